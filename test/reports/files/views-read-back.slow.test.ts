import { join } from 'node:path';
import readExcel from 'read-excel-file/node';
import { expect, test } from 'vitest';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { financeViews, viewColumns } from '../../../src/reports/queries/finance-view.ts';
import { openDuckDb } from '../../support/duckdb.ts';
import { createFull, OF_OPEN_MONTHS } from './full-ledger.ts';

type Value = string | number | bigint | boolean | null;

const DECIMALS: Readonly<Record<string, number>> = { amount: 4, price: 18 };

/** Converts a value to a workbook cell as another reader returns it: numbers up to 15 digits as numbers, longer ones as text. */
function inWorkbook(value: Value, kind: string): Value | Date {
  if (value === null || value === '') return null;
  if (kind === 'flag') return value === 1n;
  if (kind === 'date' || kind === 'day') return new Date(String(value));
  if (typeof value === 'bigint') return value > -(10n ** 15n) && value < 10n ** 15n ? Number(value) : String(value);
  return kind in DECIMALS && String(value).replace(/\D/g, '').length <= 15 ? Number(value) : value;
}

/** Converts a value to a Parquet value as another reader returns it: 64-bit integers, decimals and instants. */
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

/** Sorts rows, because views guarantee no order. */
function sorted<Row extends readonly unknown[]>(rows: readonly Row[]): Row[] {
  const text = (values: Row) => values.map(String).join('\u0000');
  return [...rows].sort((a, b) => (text(a) < text(b) ? -1 : 1));
}
