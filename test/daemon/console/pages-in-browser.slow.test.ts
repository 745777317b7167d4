import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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
  writeFileSync(join(world.folder, 'cards.yml'), JSON.stringify({ rates: [...rates, all] }));
  await world.run('sync');
  await world.run('rates', 'apply', 'cards.yml', '--yes');
  return world;
}

/** The pages that every ledger has, and those of its first tenant, run and alert. */
function pathsOf(world: World): string[] {
  const first = <Row>(sql: string): Row | undefined => (world.query(sql) as Row[])[0];
  const paths = ['/', '/alerts', '/alerts/silences', '/tenants', '/months', `/months/${PERIOD}`, '/money', '/runs'];
  paths.push('/system', `/months/${PERIOD}/statements`);
  const tenant = first<{ workspace_id: string; tenant_id: string }>('SELECT * FROM finance_usage ORDER BY tenant_id');
  if (tenant !== undefined) paths.push(`/tenants/${tenant.workspace_id}/${encodeURIComponent(tenant.tenant_id)}`);
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

describe('every page', { timeout: 600_000 }, () => {
  it.each([
    ['an empty ledger', empty],
    ['an ordinary ledger', ordinary],
    ['a ledger with huge figures and long names', huge],
  ])('of %s is readable at 360, 768 and 1440 px, light and dark, and has no violation', async (name, build) => {
    const world = await build();
    const { url } = await serveConsole(world);
    await look(`${url}/?token=${token}`, 1440);
    const paths = [...pathsOf(world), ...(build === empty ? [] : await uploads(url, world))];
    for (const path of paths) {
      for (const scheme of ['light', 'dark'] as const) {
        for (const width of [360, 768, 1440]) {
          const page = await look(`${url}${path}`, width, scheme);
          const where = `${path} at ${width}, ${scheme}`;
          await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
          expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), where).toBe(false);
          if (width !== 768) expect(await page.seriousFaults(), where).toEqual([]);
          expect(page.complaints, where).toEqual([]);
          const shot = `${name.replaceAll(' ', '-').slice(0, 12)}${path.replaceAll(/[^a-z]+/g, '-').slice(0, 40)}-${width}-${scheme}.png`;
          if (SHOTS !== undefined) await page.screenshot(join(SHOTS, shot));
        }
      }
    }
  });
});
