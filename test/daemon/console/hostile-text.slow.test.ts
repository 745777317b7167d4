// cspell:ignore formaction

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { describe, expect, it } from 'vitest';
import { ACTIVE } from '../../alerts/channels/hostile.ts';
import { createWorld, row, type World, workspaceSettings } from '../../commands/world.ts';
import { browserOfFile, type Looked } from '../../support/browser.ts';
import { HOSTILE_TEXTS } from '../../support/hostile-texts.ts';
import { serveApi } from '../api/served-api.ts';
import { serveConsole, TOKENS, type Visitor } from './served-console.ts';

const look = browserOfFile();
const [NAME = '', ...OTHERS] = HOSTILE_TEXTS;
const textAt = (at: number): string => OTHERS[at % OTHERS.length] ?? NAME;
const oneLine = (text: string): string => text.replaceAll(/[\r\n\0]/g, ' ');
/** Without the bytes that make a file of names no text. */
const inFile = (text: string): string => text.replaceAll(/(?![\r\n\t])\p{Cc}/gu, ' ');

/** A ledger whose every text is hostile: ids, names, references, labels, workspace names, lines, notes and reasons. */
async function hostileWorld(): Promise<World> {
  const usage = HOSTILE_TEXTS.flatMap((id) => [
    row(id, '2025-12', 1000),
    row(id, '2026-01', 1000),
    row(id, '2026-02', 5000),
  ]);
  const steady = ['2025-12', '2026-01', '2026-02'].map((month) => row('whale', month, 9_000_000));
  const workspaces = [
    { id: 'ws-1', api_key_id: 'ak_1', secret_key: 'sk_1_not_a_secret', usage: [...usage, ...steady] },
    { id: 'ws-2', api_key_id: 'ak_2', secret_key: 'sk_2_not_a_secret', usage: steady },
  ];
  const world = await createWorld(...workspaces);
  const named = workspaces.map((workspace, at) => {
    return { ...workspaceSettings(world.sandbox, workspace), name: at === 0 ? textAt(20) : textAt(23) };
  });
  world.configure({
    workspaces: named,
    rates: [{ name: textAt(20), currency: 'EUR', from_period: '2025-12', price_per_credit: '0.01' }],
  });
  await run(world, 'sync');
  const names = HOSTILE_TEXTS.filter((id) => id === inFile(id)).map((tenant_id, at) => ({
    tenant_id,
    display_name: inFile(textAt(at + 3)),
    external_ref: inFile(`${at}${textAt(at + 7)}`).slice(0, 900),
    note: inFile(textAt(at + 11)),
  }));
  writeFileSync(join(world.folder, 'names.csv'), stringify(names, { header: true, quoted: true }));
  await run(world, 'tenants', 'import', 'names.csv', '--workspace', 'ws-1');
  await run(
    ...([world, 'lines', 'add', '--workspace', 'ws-1', '--tenant', 'whale', '--period', '2026-01'] as const),
    ...['--amount', '-1.50', '--currency', 'EUR', '--reason', oneLine(textAt(20)), '--by', oneLine(textAt(22))],
  );
  world.clock.nowMs += 3_600_000;
  for (const tenantId of HOSTILE_TEXTS) {
    world.sandbox.workspace('ws-1').set({ tenantId, period: '2026-02', credits: 600_000, requests: 12 });
  }
  await run(world, 'sync');
  return world;
}

async function run(world: World, ...argv: string[]): Promise<void> {
  const { code, err } = await world.run(...argv);
  if (code !== 0) throw new Error(`${argv[0]}: exit code ${code}: ${err}`);
}

/** Acknowledges, silences, plans and labels each alert with hostile notes, by a person with a hostile name. */
async function changeAll(visitor: Visitor, alertIds: readonly string[]): Promise<void> {
  const forms = ['acknowledge', 'silence', 'plan', 'feedback'];
  for (const [at, id] of alertIds.entries()) {
    const text = textAt(at).slice(0, 400);
    const fields = {
      note: text,
      reason: text,
      until: '2026-05-01',
      up_to: '900000',
      label: 'real',
      person: textAt(at),
    };
    const { status } = await visitor.post(`/alerts/${id}/${forms[at % forms.length]}`, fields);
    expect(status).toBe(303);
  }
}

/** Asserts that a page shows its texts and does nothing else. */
async function expectInert(page: Looked, url: string, where: string): Promise<void> {
  const facts = await page.evaluate(`({ title: document.title, wide: document.documentElement.scrollWidth - innerWidth,
    foreign: [...document.querySelectorAll('[href], [src], [action], [formaction]')]
      .map((element) => element.href?.baseVal ?? element.href ?? element.src ?? element.getAttribute('action') ?? '')
      .filter((address) => /^\\s*(javascript|vbscript):/i.test(address)),
    handlers: [...document.querySelectorAll('*')].flatMap(({ attributes }) => [...attributes].map(({ name }) => name)).filter((name) => name.startsWith('on')),
    text: document.body.innerText })`);
  const { title, wide, foreign, handlers, text } = facts as Record<string, unknown>;
  expect([where, wide, foreign, handlers, page.complaints]).toEqual([where, 0, [], [], []]);
  expect(title, where).not.toBe('run');
  expect(ACTIVE.test(String(text).replaceAll('\t', ' ')), where).toBe(false);
  const elsewhere = page.requests.filter((request) => !request.startsWith(`${url}/`) && !request.startsWith('data:'));
  expect(elsewhere, where).toEqual([]);
}

describe('hostile text', { timeout: 600_000 }, () => {
  it('is shown as text on every page: no script runs, nothing is requested elsewhere, no page is wider than 360 px', async () => {
    const world = await hostileWorld();
    const { url, signIn } = await serveConsole(world);
    const visitor = await signIn('finance', '');
    const alerts = world.query('SELECT alert_id FROM finance_alerts') as { alert_id: string }[];
    const alertIds = alerts.map(({ alert_id }) => alert_id);
    expect(alertIds.length).toBeGreaterThan(20);
    await changeAll(visitor, alertIds);
    const paths = [
      '/',
      '/alerts?state=all',
      '/alerts/silences',
      '/tenants',
      '/months',
      '/months/2026-01',
      '/months/2026-02',
    ];
    paths.push('/runs', '/system', `/tenants?search=${encodeURIComponent(textAt(9))}`, '/sign-in');
    paths.push(...HOSTILE_TEXTS.map((id) => `/tenants/ws-1/${encodeURIComponent(id)}`));
    paths.push(...alertIds.slice(0, 12).map((id) => `/alerts/${id}`));
    await look(`${url}/?token=${TOKENS[2]?.token}`, 360);
    for (const path of paths) await expectInert(await look(`${url}${path}`, 360), url, path);
  });

  it('is shown as text where it names an uploaded file', async () => {
    const { signIn } = await serveConsole(await hostileWorld());
    const visitor = await signIn('finance');
    const text = 'customer,net\nwhale,1.00\n';
    for (const name of HOSTILE_TEXTS) {
      const fields = { workspace: 'ws-1', tenant_column: 'customer', amount_column: 'net' };
      const answer = await visitor.upload('/months/2026-01/reconcile', fields, { name, text });
      const { status, body } = await visitor.get(answer.headers.location ?? '');
      expect([name, answer.status, status]).toEqual([name, 303, 200]);
      expect(answer.headers.location).toMatch(/\/reconcile\/[\w-]+$/);
      const own = body.replaceAll(/<script type="module" src="\/console\/\w+\/console\.js"><\/script>/g, '');
      expect([name, /<(?:script|img|iframe|base|meta http)/i.test(own), ACTIVE.test(body)]).toEqual([
        name,
        false,
        false,
      ]);
    }
  });

  it('is data in every download', async () => {
    const world = await hostileWorld();
    await run(world, 'close', '2026-01', '--workspace', 'ws-1', '--force', '--by', 'Ada', '--note', 'test');
    const { ask } = await serveApi(world);
    const csv = await ask('/v1/exports/usage?format=csv');
    const rows = parse(csv.text, { columns: true, bom: true }) as Record<string, string>[];
    // A quote before an operator keeps a spreadsheet from running it as a formula.
    const withoutQuotes = (text = ''): string => text.replaceAll("'", '');
    const ids = new Set(rows.map(({ tenant_id }) => withoutQuotes(tenant_id)));
    expect(HOSTILE_TEXTS.filter((id) => !ids.has(withoutQuotes(id)))).toEqual([]);
    // The API takes no id with U+0000.
    for (const id of HOSTILE_TEXTS.filter((text) => !text.includes('\0'))) {
      const path = `/v1/statements/2026-01/${encodeURIComponent(id)}?workspace=ws-1`;
      const html = await ask(`${path}&format=html`);
      expect([id, html.status, html.text.includes("<script>document.title='run'")]).toEqual([id, 200, false]);
      expect(String(html.headers['content-security-policy'])).toContain("default-src 'none'");
      expect(String(html.headers['content-disposition'] ?? '')).not.toMatch(/[\r\n<>]/);
      const json = await ask(path);
      expect([id, json.status, json.headers['x-content-type-options'], ACTIVE.test(json.text)]).toEqual([
        id,
        200,
        'nosniff',
        false,
      ]);
    }
  });
});
