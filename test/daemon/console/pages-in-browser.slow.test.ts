import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { acknowledgeLink } from '../../../src/alerts/messages/acknowledge-link.ts';
import { createReportMaker } from '../../../src/daemon/http/reports/report-maker.ts';
import { headOfChain } from '../../../src/ledger/journal/runs/digest.ts';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { createWorld, FIRST, row, type World, workspaceSettings } from '../../commands/world.ts';
import { ledgerOfOperations, OTHER_CARD } from '../../operations/ledger-of-operations.ts';
import { browserOfFile } from '../../support/browser.ts';
import { eventually } from '../../support/eventually.ts';
import { serveConsole, TOKENS } from './served-console.ts';

const SHOTS = process.env.SCREENSHOTS;
const look = browserOfFile();
const token = TOKENS.find(({ role }) => role === 'finance')?.token ?? '';
const PERIOD = '2026-01';
const LONG = 'an-id-of-a-customer-that-somebody-has-made-of-its-whole-address-and-of-its-name-in-capitals';

/** A service that lists nothing. */
async function empty(): Promise<World> {
  const world = await createWorld({ ...FIRST, usage: [] });
  await world.run('sync');
  return world;
}

/** Prices, costs, lines, an alert, a silence, a close and a failed run. */
async function ordinary(): Promise<World> {
  const world = await ledgerOfOperations();
  const costs = [{ name: 'provider', currency: 'EUR', from_period: '2025-12', price_per_credit: '0.004' }];
  writeFileSync(join(world.folder, 'costs.yml'), JSON.stringify({ costs }));
  await world.run('rates', 'apply', 'costs.yml', '--yes');
  return world;
}

/** Sixty workspaces and tenants with long ids and figures of nineteen digits. */
async function huge(): Promise<World> {
  const workspaces = Array.from({ length: 60 }, (_, at) => ({
    id: `workspace-${at}-of-the-northern-region`,
    api_key_id: `ak_${at}`,
    secret_key: `sk_${at}_not_a_secret`,
    usage: Array.from({ length: 8 }, (_, nth) => `${LONG}-${nth}`).flatMap((tenant, nth) => [
      row(tenant, '2025-12', 900_719_925_474_099n),
      row(tenant, PERIOD, 900_719_925_474_099n * BigInt(nth + 1)),
      row(tenant, '2026-02', 9_007_199_254_740_993n),
    ]),
  }));
  const world = await createWorld(...workspaces);
  world.configure({ workspaces: workspaces.map((workspace) => workspaceSettings(world.sandbox, workspace)) });
  const rates = ['EUR', 'JPY', 'KWD'].map((currency, at) => ({
    name: `The price list of ${2024 + at} for customers with a contract in ${currency}`,
    currency,
    from_period: '2025-12',
    tenant: `*-${at}`,
    price_per_credit: '0.01',
  }));
  const all = { name: 'everybody else', currency: 'EUR', from_period: '2025-12', price_per_credit: '0.0125' };
  const costs = [{ name: 'provider', currency: 'EUR', from_period: '2025-12', price_per_credit: '0.004' }];
  writeFileSync(join(world.folder, 'cards.yml'), JSON.stringify({ rates: [...rates, all], costs }));
  await world.run('sync');
  await world.run('rates', 'apply', 'cards.yml', '--yes');
  return world;
}

/** A page to look at: its path, and the headers that a proxy adds to the request. */
interface Place {
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** The page is that of an error, so that the browser complains about its status. */
  isError?: boolean;
}

const LINK_KEY = 'a key of this test';
const PROXY = { user_header: 'X-Forwarded-User', groups_header: 'X-Forwarded-Groups', roles: { read: ['staff'] } };

/** Serves the console with reports, links of messages and a proxy that signs people in. */
async function serve(world: World) {
  appendFileSync(join(world.folder, 'usage-ledger.yml'), `http: ${JSON.stringify({ proxy_sign_in: PROXY })}\n`);
  const { connection, close } = openReader(world.ledgerPath);
  onTestFinished(() => void close());
  const reports = createReportMaker({ ledgerPath: world.ledgerPath, head: () => headOfChain(connection).digest });
  const acknowledging = {
    ...{ connection, linkKey: LINK_KEY, acknowledge: async () => undefined, timezone: () => 'Europe/Berlin' },
    clock: { now: () => world.clock.nowMs },
  };
  return serveConsole(world, { reports, acknowledging }, { pagesPerMinute: 10_000 });
}

/** The pages of somebody who has not signed in. */
function placesOfStrangers({ query }: World): Place[] {
  const places: Place[] = [
    { path: '/sign-in' },
    { path: '/months', isError: true },
    { path: '/?token=guessed', isError: true },
    { path: '/', headers: { 'x-forwarded-user': 'Nick', 'x-forwarded-groups': 'visitors' }, isError: true },
    { path: '/acknowledge/alert_1/1/log/wrong', isError: true },
  ];
  const [alert] = query("SELECT alert_id FROM alerts WHERE state = 'firing'") as { alert_id: string }[];
  const link = (id: string, episode?: number): string =>
    acknowledgeLink({ channel: 'log', publicUrl: '', linkKey: LINK_KEY }, id, episode) ?? '';
  places.push({ path: link('alert_of_the_past', 1), isError: true });
  if (alert !== undefined) places.push({ path: link(alert.alert_id) });
  return places;
}

/** The pages that every ledger has, and those of its first tenant, run and alert. */
function pathsOf(world: World): string[] {
  const first = <Row>(sql: string): Row | undefined => (world.query(sql) as Row[])[0];
  const paths = ['/', '/alerts', '/alerts/silences', '/tenants', '/months', `/months/${PERIOD}`, '/money', '/runs'];
  paths.push('/system', `/months/${PERIOD}/statements`, '/alerts?state=all', '/tenants?search=nothing+like+it');
  const tenant = first<{ workspace_id: string; tenant_id: string }>('SELECT * FROM finance_usage ORDER BY tenant_id');
  if (tenant !== undefined) {
    const { workspace_id: workspace, tenant_id: id } = tenant;
    paths.push(`/tenants/${workspace}/${encodeURIComponent(id)}`, `/runs?workspace=${workspace}`, '/report');
    paths.push(`/report?workspace=${workspace}&period=${PERIOD}`);
    paths.push(`/report/tenant?workspace=${workspace}&tenant=${encodeURIComponent(id)}&period=${PERIOD}`);
  }
  const run = first<{ run_id: string }>('SELECT run_id FROM finance_runs');
  if (run !== undefined) paths.push(`/runs/${run.run_id}`);
  const alert = first<{ alert_id: string }>('SELECT alert_id FROM finance_alerts WHERE tenant_id IS NOT NULL');
  if (alert !== undefined) paths.push(`/alerts/${alert.alert_id}`);
  return paths;
}

/** Uploads a file on a page and returns the path of the result. */
async function upload(
  url: string,
  path: string,
  { form, file, fields = {} }: { form: string; file: string; fields?: Record<string, string> },
): Promise<string> {
  const page = await look(`${url}${path}`, 1440);
  await page.evaluate(`document.querySelector('form[action$="${form}"]').closest('details').open = true`);
  await page.choose(`form[action$="${form}"] input[type="file"]`, file);
  for (const [name, value] of Object.entries({ ...fields, person: 'Ada' })) {
    const field = JSON.stringify(`form[action$="${form}"] [name="${name}"]`);
    await page.evaluate(`(() => { const field = document.querySelector(${field});
      if (field !== null) field.value = ${JSON.stringify(value)}; })()`);
  }
  await page.click(`form[action$="${form}"] button`);
  const is = async (): Promise<string> => String(await page.evaluate('location.pathname'));
  await eventually(async () => expect(await is()).not.toBe(path));
  return is();
}

/** The results of an uploaded invoice file and of uploaded rate cards. */
async function uploads(url: string, world: World): Promise<string[]> {
  const { folder, query } = world;
  const rows = query(`SELECT workspace_id, tenant_id FROM finance_usage WHERE period = '${PERIOD}' LIMIT 100`) as {
    workspace_id: string;
    tenant_id: string;
  }[];
  const lines = rows.slice(1).map(({ workspace_id, tenant_id }) => `${workspace_id},${tenant_id},12.50,EUR`);
  const first = rows[0]?.workspace_id ?? '';
  writeFileSync(
    join(folder, 'invoices.csv'),
    ['workspace,tenant_id,net,currency', ...lines, `${first},nobody,7.25,EUR`, ''].join('\n'),
  );
  writeFileSync(join(folder, 'dearer.yml'), JSON.stringify({ rates: [OTHER_CARD] }));
  const fields = { workspace_column: 'workspace', amount_column: 'net', currency_column: 'currency' };
  return [
    await upload(url, `/months/${PERIOD}`, { form: '/reconcile', file: join(folder, 'invoices.csv'), fields }),
    await upload(url, '/money', { form: '/money/rates', file: join(folder, 'dearer.yml') }),
  ];
}

/** Examines the program on the system page. */
async function examine(url: string): Promise<void> {
  const page = await look(`${url}/system`, 1440);
  await page.click('form[action="/system/examine"] button');
  const text = async (): Promise<string> => String(await page.evaluate('document.body.textContent'));
  await eventually(async () => expect(await text()).toMatch(/Examined: /), 60_000);
}

/** The labels of the boxes that scroll sideways. The figures of a chart may: they have a column for each series. */
const SIDEWAYS = `[...document.querySelectorAll('.scroll')]
  .filter((box) => box.scrollWidth > box.clientWidth && !box.getAttribute('aria-label').startsWith('Figures: '))
  .map((box) => box.getAttribute('aria-label'))`;

/** Looks at a page in each size and colour scheme, and writes screenshots if somebody wants them. */
async function inspect(url: string, { path, headers = {}, isError = false }: Place, name: string): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    for (const width of [360, 768, 1440]) {
      const page = await look(`${url}${path}`, width, scheme, { headers });
      const where = `${path} at ${width}, ${scheme}`;
      await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
      expect(await page.evaluate('document.title'), where).toContain(' · usage-ledger');
      expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), where).toBe(false);
      expect(await page.evaluate(SIDEWAYS), where).toEqual([]);
      if (width !== 768) expect(await page.seriousFaults(), where).toEqual([]);
      if (!isError) expect(page.complaints, where).toEqual([]);
      if (SHOTS !== undefined)
        await page.screenshot(join(SHOTS, `${shotName(name, path, headers)}-${width}-${scheme}.png`));
    }
  }
}

function shotName(name: string, path: string, headers: object): string {
  const who = Object.keys(headers).length > 0 ? '-nobody' : '';
  return `${name.replaceAll(' ', '-').slice(0, 12)}${path.replaceAll(/[^a-z]+/g, '-').slice(0, 40)}${who}`;
}

describe('every page', { timeout: 600_000 }, () => {
  it.each([
    ['an empty ledger', empty],
    ['an ordinary ledger', ordinary],
    ['a ledger with huge figures and long names', huge],
  ])('of %s is readable at 360, 768 and 1440 px, light and dark, and has no violation', async (name, build) => {
    const world = await build();
    const { url } = await serve(world);
    for (const place of placesOfStrangers(world)) await inspect(url, place, name);
    await look(`${url}/?token=${token}`, 1440);
    if (build === ordinary) await examine(url);
    const paths = [...pathsOf(world), ...(build === empty ? [] : await uploads(url, world))];
    const places = [...paths.map((path): Place => ({ path })), { path: '/runs/run_1', isError: true }];
    if (build === ordinary) places.push({ path: '/system/outlets/billing/start?from=2026-02' });
    for (const place of [...places, { path: '/no/such/page', isError: true }]) await inspect(url, place, name);
  });
});
