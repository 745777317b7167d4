import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import readExcel from 'read-excel-file/node';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { financeViews, viewColumns } from '../../../src/reports/queries/finance-view.ts';
import { createWorld, FIRST, NOON, row, USAGE, type World, workspaceSettings } from '../../commands/world.ts';
import { openDuckDb } from '../../support/duckdb.ts';
import { expectSameInOlderSqlite } from '../../support/machine-sqlite.ts';

const CARD = {
  ...{ name: 'standard', from_period: '2025-12', currency: 'EUR', discount_percent: '10', minimum: '20' },
  graduated: [{ up_to: 500, price_per_credit: '0.000125' }, { price_per_credit: '0.0125' }],
};

/** A ledger in which every view has rows: prices, names, a line by hand, a close, a correction of it, an alert. */
async function createFull(): Promise<World> {
  const world = await createWorld({ ...FIRST, usage: [...USAGE, row('=1+1', '2026-02', 0)] });
  world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], statement: { number: 'R-{seq}' } });
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [CARD], costs: [CARD] }));
  expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).code).toBe(0);
  await world.run('sync');
  writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,display_name,region\nacme,=Acme & Sons,north\n');
  expect((await world.run('tenants', 'import', 'names.csv')).code).toBe(0);
  world.clock.nowMs = NOON + 13 * 3_600_000;
  await world.run('sync');
  const line = ['lines', 'add', '--tenant', 'acme', '--currency', 'EUR', '--reason', '=1+1', '--by', 'Ada'];
  expect((await world.run(...line, '--period', '2025-12', '--amount', '-12.50')).code).toBe(0);
  expect((await world.run('close', '2025-12', '--by', 'Ada', '--note', 'invoices')).code).toBe(0);
  writeFileSync(join(world.folder, 'invoices.csv'), 'tenant_id,net,number\nacme,1.00,R-1\n');
  const record = [
    '--amount-column',
    'net',
    '--currency',
    'EUR',
    '--invoice-column',
    'number',
    '--no-service',
    '--record',
  ];
  expect((await world.run('reconcile', 'invoices.csv', '--period', '2025-12', ...record)).code).toBe(4);
  expect((await world.run('lines', 'revoke', '1', '--reason', 'a slip')).code).toBe(0);
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2025-12', credits: 999, requests: 9 });
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 90_000, requests: 10 });
  await world.run('sync');
  notSentOn(world.ledgerPath);
  return world;
}

/** Makes an entry one that its outlet's receiver has refused. */
function notSentOn(ledgerPath: string): void {
  const connection = new Database(ledgerPath);
  connection.exec(`
    INSERT INTO outlets (name, receiver, from_period, begun_at, begun_by, cursor, changed_at)
      VALUES ('billing', 'webhook credits', '2025-12', '2026-02-20T12:00:00.000Z', 'Ada', 1, '2026-02-20T12:00:00.000Z');
    INSERT INTO outlet_events (outlet, entry_id, state, reason, since)
      SELECT 'billing', min(entry_id), 'refused', '=1+1', '2026-02-20T12:00:00.000Z' FROM usage_entries;`);
  connection.close();
}

/** Empty here: months are open by the machine's clock. */
const OF_OPEN_MONTHS = ['finance_budgets', 'finance_month_to_date'];

type Value = string | number | bigint | boolean | null;

const DECIMALS: Readonly<Record<string, number>> = { amount: 4, price: 18 };

/** What another reader finds in a cell of a workbook: numbers of up to 15 digits as such, what is longer as text. */
function inWorkbook(value: Value, kind: string): Value | Date {
  if (value === null || value === '') return null;
  if (kind === 'flag') return value === 1n;
  if (kind === 'date' || kind === 'day') return new Date(String(value));
  if (typeof value === 'bigint') return value > -(10n ** 15n) && value < 10n ** 15n ? Number(value) : String(value);
  return kind in DECIMALS && String(value).replace(/\D/g, '').length <= 15 ? Number(value) : value;
}

/** And in Parquet: integers as 64 bits, money as decimals, times as instants. */
function inParquet(value: Value, kind: string): Value | Date {
  if (value === null) return null;
  if (kind === 'flag') return value === 1n;
  if (kind === 'date' || kind === 'day') return new Date(String(value));
  const digits = DECIMALS[kind];
  return digits === undefined ? value : withDecimals(String(value), digits);
}

function withDecimals(plain: string, digits: number): string {
  const [whole, part = ''] = plain.split('.');
  return `${whole}.${part.padEnd(digits, '0')}`;
}

test('every view comes back equal from Parquet by DuckDB and from a workbook by another reader', {
  timeout: 90_000,
}, async () => {
  const world = await createFull();
  const duck = await openDuckDb();
  const { connection, close } = openReader(world.ledgerPath);
  const views = financeViews(connection);
  expect(views.length).toBeGreaterThan(12);
  for (const view of views) {
    const columns = viewColumns(connection, view);
    const rows = connection.prepare(`SELECT * FROM ${view}`).safeIntegers().raw().all() as Value[][];
    if (!OF_OPEN_MONTHS.includes(view)) expect(rows.length, view).toBeGreaterThan(0);
    const write = async (format: string): Promise<string> => {
      const path = join(world.folder, `${view}.${format}`);
      const told = await world.run('export', view, '--format', format, '--out', path);
      expect(told, view).toEqual({ code: 0, out: '', err: '' });
      return path;
    };
    const expected = (as: (value: Value, kind: string) => unknown) =>
      sorted(rows.map((values) => values.map((value, at) => as(value, columns[at]?.kind ?? 'text'))));

    const sheets = (await readExcel(await write('xlsx'), { trim: false })) as unknown as { data: Value[][] }[];
    const [header, ...cells] = sheets[0]?.data ?? [];
    expect(header, view).toEqual(columns.map(({ name }) => name));
    expect(sorted(cells.slice(0, rows.length)), view).toEqual(expected(inWorkbook));

    const parquet = `read_parquet('${await write('parquet')}')`;
    const exact = columns.map(({ name, kind }) =>
      kind in DECIMALS ? `CAST("${name}" AS VARCHAR) AS "${name}"` : `"${name}"`,
    );
    const found = await duck.rows(`SELECT ${exact.join(', ')} FROM ${parquet}`);
    expect(Object.keys(await duck.types(parquet)), view).toEqual(columns.map(({ name }) => name));
    expect(sorted(found.map((record) => Object.values(record))), view).toEqual(expected(inParquet));
  }
  close();
});

/** Views promise no order. */
function sorted<Row extends readonly unknown[]>(rows: readonly Row[]): Row[] {
  const text = (values: Row) => values.map(String).join('\u0000');
  return [...rows].sort((a, b) => (text(a) < text(b) ? -1 : 1));
}

test('an older SQLite reads the rows of every view as we do', async () => {
  const world = await createFull();
  const { connection, close } = openReader(world.ledgerPath);
  const found = Object.entries(expectSameInOlderSqlite(connection, world.ledgerPath));
  close();
  expect(found.length).toBeGreaterThan(12);
  expect(found.filter(([, rows]) => rows === 0).map(([view]) => view)).toEqual(OF_OPEN_MONTHS);
}, 30_000);
