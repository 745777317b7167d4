import { expect, test } from 'vitest';
import { closeMonth, publish, usageRecord } from '../../support/open-ledger.ts';
import { HOSTILE, serve } from './report-server.ts';

/** Removes the labels that cells of a stacked table have for narrow screens. */
function withoutLabels(page: string): string {
  return page.replaceAll(/ data-label="[^"]*"/g, '');
}

test('/report shows the workspace with its budgets and links to its tenants', async () => {
  const { get } = await serve();
  const { status, type, body } = await get('/report');
  expect([status, type]).toEqual([200, 'text/html; charset=utf-8']);
  expect(body).toContain('<h1>Usage of ws-1, 2026-03</h1>');
  expect(body.match(/<svg role="img"/g)).toHaveLength(2);
  // 1,000 of 10,000 credits of all, 400 of 400 of acme.
  const budget = (name: string, used: string, limit: string, percent: string) =>
    `<th scope="row">${name}</th><td class="number">${used}</td><td class="number">${limit}</td><td class="number">${percent}%`;
  expect(withoutLabels(body)).toContain(budget('ws-1', '1,000', '10,000', '10'));
  expect(withoutLabels(body)).toContain(budget('acme', '400', '400', '100'));
  const [, address = ''] = /<a href="(\/report\/tenant\?[^"]*tenant=acme)">/.exec(body) ?? [];
  const tenant = await get(address.replaceAll('&amp;', '&'));
  expect(tenant.status).toBe(200);
  expect(tenant.body).toContain('<h1>acme, 2026-03</h1>');
  expect(tenant.body).toContain('<strong>400 credits</strong>');
  expect(withoutLabels(tenant.body)).toMatch(
    /usage, tier 1<\/th><td class="number">400<\/td><td class="number">4\.00 EUR/,
  );
  expect(withoutLabels(tenant.body)).toMatch(/opened<\/td><td class="number">\+400/);
  for (const page of [body, tenant.body]) {
    expect(page).toMatch(/Created from run run_\w+; ledger head [0-9a-f]{64} \(link 1\)/);
  }
  expect((await get('/report?period=2026-02')).body).toContain('<h1>Usage of ws-1, 2026-02</h1>');
});

test('every tenant has a page, on which its name is escaped', async () => {
  const { get } = await serve();
  const { body } = await get('/report');
  const links = [...body.matchAll(/<a href="(\/report\/tenant\?[^"]*)"/g)].map(([, link = '']) =>
    link.replaceAll('&amp;', '&'),
  );
  const hostile = links.find((link) => link.includes('script')) ?? '';
  expect(new URLSearchParams(hostile.split('?')[1]).get('tenant')).toBe(HOSTILE);
  const page = await get(hostile);
  expect(page.status).toBe(200);
  expect(page.body).toContain('<h1>&lt;/title>&lt;script>');
  for (const html of [body, page.body])
    expect(html.replace(/<script type="module" src="\/console\/\w+\/console.js"><\/script>/, '')).not.toMatch(
      /<script|\u202e|https?:\/\//,
    );
});

test('requires the token like other pages, and is read-only', async () => {
  const { get } = await serve();
  for (const path of ['/report', '/report/tenant?tenant=acme']) {
    expect((await get(path, 'Bearer wrong')).status).toBe(401);
    expect((await get(path, undefined, 'POST')).status).toBe(405);
  }
});

test('reports a missing page with a short hint', async () => {
  const { get } = await serve();
  expect((await get('/report?period=2026-1')).status).toBe(400);
  expect((await get('/report?period=2031-01')).status).toBe(404);
  expect((await get('/report?workspace=ws-9')).status).toBe(404);
  expect((await get('/report/tenant?tenant=nobody')).status).toBe(404);
  expect((await get('/report/tenant')).status).toBe(400);
});

test('lists the workspaces if there are several', async () => {
  const { get } = await serve(['acme'], ['ws-1', 'ws-<2>']);
  const { body } = await get('/report');
  expect(body).toContain('<a href="/report?workspace=ws-1">Name of ws-1</a>');
  expect(body).toContain('Name of ws-&lt;2>');
  expect((await get('/report?workspace=ws-1')).body).toContain('<h1>Usage of ws-1, 2026-03</h1>');
});

test('a page is cached for a minute or until the chain grows', async () => {
  const { get, connection, clock } = await serve(['acme']);
  const first = (await get('/report')).body;
  // What bypasses the chain is not seen at once.
  connection.prepare("UPDATE workspaces SET name = 'Renamed'").run();
  expect((await get('/report')).body).toBe(first);
  clock.advance(60_000);
  expect((await get('/report')).body).toContain('<h1>Usage of Renamed, 2026-03</h1>');
  await publish(connection, [usageRecord('acme', 7777, '2026-03')]);
  expect((await get('/report')).body).toContain('7,777 credits');
  closeMonth(connection, '2026-02');
  expect((await get('/report?period=2026-02')).body).toContain('The month is closed');
});
