import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { createWorld, row, type World, workspaceSettings } from '../commands/world.ts';
import { zipEntries } from '../reports/files/zip-entries.ts';

const DOCUMENT = new URL('../../docs/finance.md', import.meta.url);
const HOUR_MS = 3_600_000;
/** 3 March 2026, 06:00 UTC: February has settled. */
const SETTLED = Date.UTC(2026, 2, 3, 6);
const CURRENCIES = ['EUR', 'USD', 'JPY'] as const;

/** Forty of them, each currency in turn: a credit is a cent, and a yen. */
const ALL = Array.from({ length: 40 }, (_, at) => {
  const id = `ws-${String(at + 1).padStart(2, '0')}`;
  const currency = CURRENCIES[at % 3] ?? 'EUR';
  const tenants = ['acme', 'globex', 'initech'].map((tenant, place) => ({ tenant, credits: 1000 * (at + 1) + place }));
  return { id, currency, tenants };
});
const [GROWN, LATE, READ_FAULTS, UNSETTLED] = ['ws-07', 'ws-15', 'ws-23', 'ws-31'];
const LATE_CREDITS = 500;

async function createForty(): Promise<World> {
  const workspaces = ALL.map(({ id, tenants }) => ({
    id,
    api_key_id: `ak_${id}`,
    secret_key: `sk_not_a_secret_${id}`,
    usage: tenants.flatMap(({ tenant, credits }) => [
      row(tenant, '2026-01', id === GROWN ? 1000 : credits),
      row(tenant, '2026-02', credits),
    ]),
  }));
  const world = await createWorld(...workspaces);
  const cards = CURRENCIES.flatMap((currency) =>
    ALL.filter((one) => one.currency === currency).map(({ id }) => ({
      ...{ name: id, workspace: id, from_period: '2026-01', currency },
      price_per_credit: currency === 'JPY' ? '1' : '0.01',
    })),
  );
  const configure = (wanted: (id: string) => boolean) =>
    world.configure({
      close: { max_change: '25%' },
      workspaces: workspaces
        .filter(({ id }) => wanted(id))
        .map((one) => ({
          ...workspaceSettings(world.sandbox, one),
          settle_hours: one.id === UNSETTLED ? 240 : 48,
        })),
    });
  configure(() => true);
  writeFileSync(join(world.folder, 'rates.yml'), JSON.stringify({ rates: cards }));
  await world.run('migrate');
  at(world, SETTLED - 24 * HOUR_MS);
  expect(await world.run('rates', 'apply', 'rates.yml', '--yes')).toMatchObject({ code: 0 });
  configure((id) => id !== READ_FAULTS);
  await world.run('sync');
  const names = ['acme', 'globex', 'initech'].map((id, place) => `${id},${id} Ltd,C-${place}`);
  writeFileSync(join(world.folder, 'names.csv'), ['tenant_id,display_name,external_ref', ...names, ''].join('\n'));
  for (const { id } of ALL)
    if (id !== READ_FAULTS) await world.run('tenants', 'import', 'names.csv', '--workspace', id);
  at(world, SETTLED);
  world.sandbox.workspace(LATE).set({ tenantId: 'latecomer', period: '2026-02', credits: LATE_CREDITS, requests: 1 });
  await world.run('sync');
  configure(() => true);
  return world;
}

function at(world: World, ms: number): void {
  world.clock.nowMs = ms;
  world.clock.serviceMs = ms;
}

/** What February comes to, by what the service has been told. */
function owed(currency: string): bigint {
  const own = ALL.filter((one) => one.currency === currency);
  const credits = own.flatMap(({ tenants }) => tenants.map((tenant) => tenant.credits));
  const late = ALL.find(({ id }) => id === LATE)?.currency === currency ? LATE_CREDITS : 0;
  return BigInt(credits.reduce((sum, one) => sum + one, late));
}

/** As a billing system exports them: a line for each customer, with tens of thousands in figures that people read. */
function invoices(): string {
  const lines = ALL.flatMap(({ id, currency, tenants }) => {
    const own = id === LATE ? [...tenants, { tenant: 'latecomer', credits: LATE_CREDITS }] : tenants;
    return own.map(({ tenant, credits }, place) => {
      const net = currency === 'JPY' ? String(credits) : (credits / 100).toFixed(2);
      return `${id},${tenant},${net},${currency},R-${id}-${place}`;
    });
  });
  return `${['workspace,customer,net,currency,number', ...lines].join('\n')}\n`;
}

/** The bundle unpacked and checked by its own program, and what it says of invoices. */
async function bundleOf(world: World): Promise<{ code: number | null; reconciled: number; numbers: number }> {
  const folder = join(world.folder, 'unpacked');
  const entries = zipEntries(readFileSync(join(world.folder, 'february.zip')));
  for (const [name, data] of Object.entries(entries)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), data);
  }
  const { status } = spawnSync(process.execPath, [join(folder, 'verify-bundle.mjs')]);
  const rowsOf = (name: string) =>
    parse(readFileSync(join(folder, name)), { columns: true }) as Record<string, string>[];
  return {
    code: status,
    reconciled: rowsOf('reconciliations.csv').length,
    numbers: rowsOf('charges.csv').filter(({ invoice_number = '' }) => invoice_number.startsWith('R-ws-')).length,
  };
}

/** Each run has others of these. */
function steady(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{64}/g, '9d67584...')
    .replaceAll(/run_\w+/g, 'run_20260303...')
    .replaceAll(/\/\S+\/(?=statements\/)/g, '')
    .trimEnd();
}

test('forty workspaces are closed, reconciled and bundled by eight commands, and the document shows what each says', async () => {
  const world = await createForty();
  const shown: string[] = [];
  const type = async (code: number, ...argv: string[]): Promise<string> => {
    // Where a bar would stand, the words alone.
    const hasBar = ['sync', 'statement'].includes(argv[0] ?? '');
    const outcome = await (hasBar ? world.run(...argv) : world.runOnTerminal(80, ...argv));
    expect({ argv, code: outcome.code, out: outcome.code === code ? '' : outcome.out }).toEqual({
      argv,
      code,
      out: '',
    });
    const typed = argv.map((word) => (word.includes(' ') ? `"${word}"` : word)).join(' ');
    // Of a terminal's bar nothing stays.
    shown.push(`$ usage-ledger ${typed}`, ...shortened(steady(outcome.out).split('\n')), '');
    return outcome.out;
  };

  const plan = await type(4, 'month-end', '2026-02');
  const planned = shown.join('\n').trimEnd();
  const afterPlan = shown.length;
  const stateOf = (id: string | undefined) => new RegExp(`^${id} .* {2}(\\S.*)$`, 'm').exec(plan)?.[1];
  expect([GROWN, LATE, READ_FAULTS, UNSETTLED].map(stateOf)).toEqual([
    'large change',
    'read once',
    'no record',
    'settling',
  ]);
  expect(plan.match(/ {2}ready$/gm)).toHaveLength(36);

  await type(3, 'close', '2026-02', '--all', '--by', 'Ada', '--note', 'run 12');
  expect(world.query('SELECT count(*) AS n FROM finance_closes')).toEqual([{ n: 36 }]);
  await type(0, 'sync', '--workspace', READ_FAULTS ?? '', '--from', '2026-01');
  await type(3, 'close', '2026-02', '--all', '--note', 'new contract', '--accept-change', GROWN ?? '');
  at(world, SETTLED + 13 * HOUR_MS);
  await world.run('sync');
  at(world, SETTLED + 10 * 24 * HOUR_MS);
  await type(0, 'close', '2026-02', '--all', '--note', 'run 12');
  await type(0, 'statement', '2026-02', '--each', '--out', 'statements', '--format', 'html,json');

  const index = parse(readFileSync(join(world.folder, 'statements', 'index.csv')), { columns: true }) as Record<
    string,
    string
  >[];
  expect(index).toHaveLength(121);
  for (const currency of CURRENCIES) {
    const own = index.filter((line) => line.currency === currency);
    const sum = own.reduce((total, { amount = '' }) => total + BigInt(amount.replace('.', '')), 0n);
    expect([currency, sum]).toEqual([currency, owed(currency)]);
  }
  const digests = world.query('SELECT workspace_id, digest FROM finance_closes') as Record<string, string>[];
  expect(new Set(index.map(({ workspace_id, digest }) => `${workspace_id} ${digest}`))).toEqual(
    new Set(digests.map(({ workspace_id, digest }) => `${workspace_id} ${digest}`)),
  );
  writeFileSync(join(world.folder, 'invoices.csv'), invoices());
  const columns =
    '--workspace-column workspace --tenant-column customer --amount-column net --currency-column currency';
  const file = [
    'reconcile',
    'invoices.csv',
    '--period',
    '2026-02',
    ...columns.split(' '),
    '--invoice-column',
    'number',
  ];
  await type(0, ...file, '--record', '--by', 'Ada');
  await type(0, 'month-end', '2026-02', '--bundle', 'february.zip');
  const written = shown.slice(afterPlan).join('\n').trimEnd();
  const recorded = 'SELECT workspace_id, matched, missing, extra, different FROM finance_reconciliations ORDER BY 1';
  expect(world.query(recorded)).toEqual(
    ALL.map(({ id }) => {
      return { workspace_id: id, matched: id === LATE ? 4 : 3, missing: 0, extra: 0, different: 0 };
    }),
  );
  expect(await bundleOf(world)).toEqual({ code: 0, reconciled: 40, numbers: 121 });
  expect((await world.run('month-end', '2026-02')).code).toBe(0);
  expect((await world.run('verify')).code).toBe(0);

  // DRILL=write puts that into the document anew, but the lines of thirty workspaces that say the same.
  const said = `${planned}\n\n${written}\n`;
  const block = /(## Example: forty workspaces\n[\s\S]*?```text\n)[\s\S]*?```/;
  const text = readFileSync(DOCUMENT, 'utf8');
  if (process.env.DRILL === 'write')
    writeFileSync(
      DOCUMENT,
      text.replace(block, (_, head) => `${head}${said}\`\`\``),
    );
  expect(block.exec(readFileSync(DOCUMENT, 'utf8'))?.[0]).toContain(`\`\`\`text\n${said}\`\`\``);
}, 120_000);

/** Of lines of workspaces that are ready, or of the tenants of one, the first; of closes the first and how many there are. */
function shortened(printed: readonly string[]): string[] {
  // The terminal breaks a line before a digest of 64 digits; in the document it is short.
  const lines = printed.join('\n').replaceAll('head digest\n', 'head digest ').split('\n');
  const digest = lines.findIndex((line) => line.startsWith('head digest'));
  if (lines.at(-1)?.endsWith(' not closed') === true) return [...lines.slice(0, digest + 1), '...', lines.at(-1) ?? ''];
  const kept: string[] = [];
  const alike = [/^ws-.* ready$/, /: reconciliation recorded, /, / \(ws-07\): /].flatMap((one) =>
    lines.filter((line) => one.test(line)).slice(1),
  );
  for (const line of lines) {
    if (!alike.includes(line)) kept.push(line);
    else if (kept.at(-1) !== '...') kept.push('...');
  }
  return kept;
}
