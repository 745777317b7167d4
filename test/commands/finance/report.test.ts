import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createWorld, FIRST, parseJson, row, type World } from '../world.ts';

const HOSTILE = '</title></svg><script>alert(1)</script><img src=//x onerror=alert(2)>"\'&\u202e';
const CARD = { name: 'standard', from_period: '2025-12', currency: 'EUR', price_per_credit: '0.0125' };
const USAGE = [
  ...['2025-12', '2026-01', '2026-02'].flatMap((period, at) =>
    ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((tenant, index) => row(tenant, period, 1000 * (index + 1) + 100 * at)),
  ),
  row(HOSTILE, '2026-01', 9_007_199_254_740_993n),
  row(HOSTILE, '2026-02', 9_007_199_254_740_995n),
];

async function createReported(): Promise<World> {
  const world = await createWorld({ ...FIRST, usage: USAGE });
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [CARD] }));
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  await world.run('sync');
  writeFileSync(join(world.folder, 'names.csv'), `tenant_id,display_name\ng,<b onclick=x>Gee & Co\n`);
  await world.run('tenants', 'import', 'names.csv');
  return world;
}

async function pageOf(world: World, ...options: string[]): Promise<string> {
  expect(await world.run('report', '--out', 'page.html', ...options)).toEqual({ code: 0, out: '', err: '' });
  expect(statSync(join(world.folder, 'page.html')).mode & 0o777).toBe(0o600);
  return readFileSync(join(world.folder, 'page.html'), 'utf8');
}

describe('report', () => {
  it('writes a page whose charts have words and figures behind them, the same bytes each time', async () => {
    const world = await createReported();
    const page = await pageOf(world);
    expect(await pageOf(world)).toBe(page);
    const { document } = parseHTML(page);
    const charts = [...document.querySelectorAll('svg[role="img"]')];
    // Of one day there is no pace yet.
    expect(charts.map((chart) => chart.getAttribute('aria-label'))).toEqual(['Credits by month', 'EUR by month']);
    for (const chart of charts) {
      expect(chart.querySelector('title')?.textContent).toBe(chart.getAttribute('aria-label'));
      expect(chart.querySelectorAll('[aria-label]')).toHaveLength(0);
      expect(chart.querySelectorAll('rect, path').length).toBeGreaterThan(3);
    }
    const [credits] = [...document.querySelectorAll('details table')];
    const february = [...(credits?.querySelectorAll('tbody tr:last-child > *') ?? [])].map((cell) => cell.textContent);
    // The five largest, the three others of 1,200, 2,200 and 3,200, and all.
    expect(february).toEqual([
      ...['2026-02', '9,007,199,254,740,995', '7,200', '6,200', '5,200', '4,200', '6,600', '9,007,199,254,770,395'],
    ]);
    expect(document.querySelectorAll('section.card')).toHaveLength(6);
    expect(document.body.textContent).toContain('<b onclick=x>Gee & Co');
    const [run] = world.query('SELECT run_id FROM finance_runs ORDER BY started_at DESC LIMIT 1') as {
      run_id: string;
    }[];
    const [, head] = /^head digest (\S+)$/m.exec((await world.run('verify')).out) ?? [];
    expect(document.body.textContent).toContain(`Created from run ${run?.run_id}; ledger head ${head} (link `);
    const earlier = parseHTML(await pageOf(world, '--period', '2026-01')).document;
    expect(earlier.querySelector('h1')?.textContent).toMatch(/2026-01$/);
  });

  it('runs nothing and fetches nothing, whatever tenants are called', async () => {
    const page = await pageOf(await createReported());
    const { document } = parseHTML(page);
    expect(document.querySelectorAll('script, img, iframe, object, link, base, form, foreignObject')).toHaveLength(0);
    for (const element of document.querySelectorAll('*')) {
      const names = [...element.attributes].map(({ name }) => name.toLowerCase());
      expect(
        names.filter((name) => name.startsWith('on') || /^(src|href|xlink:href|srcset|action)$/.test(name)),
      ).toEqual([]);
    }
    expect(page).not.toMatch(/url\(|@import|\u202e/);
    expect(page).toContain("default-src 'none'");
  });

  it('shows the alerts that the list shows, and none of what a first sync found of the past', async () => {
    const months = { '2025-11': 2_000, '2025-12': 2_000, '2026-01': 10_000, '2026-02': 50_000 };
    const usage = ['a', 'b'].flatMap((id) => Object.entries(months).map(([month, credits]) => row(id, month, credits)));
    const world = await createWorld({ ...FIRST, usage });
    await world.run('sync');
    expect(await pageOf(world)).toContain('>No open alerts.</p>');
    world.sandbox.workspace().set({ tenantId: 'b', period: '2026-02', credits: 150_000, requests: 10 });
    await world.run('sync');
    const listed = parseJson((await world.run('alerts', '--json')).out).alerts;
    expect(listed.map(({ tenant_id }: { tenant_id: string }) => tenant_id)).toEqual(['b']);
    const { document } = parseHTML(await pageOf(world));
    const shown = [...document.querySelectorAll('li:has(strong)')].map((item) => item.textContent);
    expect(shown).toEqual([expect.stringMatching(/^critical: b: 150,000 credits in February/)]);
  });

  it('says what it cannot show', async () => {
    const world = await createReported();
    expect(await world.run('report', '--out', 'page.html', '--period', '2031-01')).toMatchObject({ code: 1, out: '' });
    expect((await world.run('report')).err).toContain("required option '--out <file>' not specified");
  });
});
