import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { readParquet } from 'parquet-wasm';
import readExcel from 'read-excel-file/node';
import { describe, expect, test } from 'vitest';
import { parseExact } from '../../../src/core/text/exact-json.ts';
import { writeAtomically } from '../../../src/reports/files/atomic-file.ts';
import type { SheetFormat } from '../../../src/reports/files/sheet-formats.ts';
import { writeSheetFile } from '../../../src/reports/files/write-sheet.ts';
import type { Sheet, SheetValue } from '../../../src/reports/formats/columns.ts';
import { openDuckDb } from '../../support/duckdb.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const LARGEST = 2n ** 63n - 1n;
const HOSTILE = [
  '=1+1',
  ' =1+1',
  '\u00a0@x',
  '\ufeff=x',
  '\ttab',
  'cr\rlf\n',
  '_x000D_',
  '<b>&"',
  '\u0001',
  '😀',
  'é',
  '',
];
const TEXTS = [...HOSTILE, 'acme', '007', '2026-02', 'TRUE', '1e5'];

function sheet(): Sheet {
  return {
    name: 'usage',
    columns: [
      { name: 'id', kind: 'text' },
      { name: 'credits', kind: 'credits' },
      { name: 'price', kind: 'price' },
      { name: 'percent', kind: 'double' },
      { name: 'at', kind: 'date' },
      { name: 'withdrawn', kind: 'flag' },
      { name: 'amount', kind: 'amount' },
      { name: 'day', kind: 'day' },
    ],
    rows: TEXTS.map((id, index): SheetValue[] => [
      id,
      index % 3 === 0 ? LARGEST - BigInt(index) : -123_456_789_012_345n,
      index % 2 === 0 ? '0.000000000000000125' : '-12.5',
      index === 1 ? null : index / 7,
      '2026-02-20T12:00:00.123Z',
      index % 2 === 0,
      index % 2 === 0 ? '9223372036854775807' : '-922337203685477.5807',
      '2026-02-28',
    ]),
  };
}

async function write(format: SheetFormat): Promise<string> {
  const path = join(temporaryFolder(), `rows.${format}`);
  await writeSheetFile(sheet(), { path, format });
  return path;
}

/** Returns the rows and types of a Parquet file as read by Arrow's Rust reader. */
function readBack(path: string): { rows: Record<string, unknown>[]; types: Record<string, string> } {
  const table = tableFromIPC(readParquet(readFileSync(path)).intoIPCStream());
  return {
    rows: table.toArray().map((row) => ({ ...row.toJSON() })),
    types: Object.fromEntries(table.schema.fields.map(({ name, type }) => [name, String(type)])),
  };
}

const expected = () =>
  [...sheet().rows].map(([id, credits, , percent, at, withdrawn, , day]) => ({
    id: String(id).replace(/^\ufeff/, ''),
    credits,
    percent,
    at: Date.parse(String(at)),
    withdrawn,
    day: Date.parse(String(day)),
  }));

describe('rows in a file', () => {
  test('are read from Parquet by another reader with exact integers and money and UTC times', async () => {
    const path = await write('parquet');
    const { rows, types } = readBack(path);
    expect(rows.map(({ price: _, amount: __, ...row }) => row)).toEqual(expected());
    // The reader drops a byte order mark at the start of a text.
    expect(readFileSync(path).includes('\ufeff=x')).toBe(true);
    expect(types).toEqual({
      id: 'Utf8',
      credits: 'Int64',
      price: 'Decimal[38e+18]',
      percent: 'Float64',
      at: 'Timestamp<MILLISECOND, UTC>',
      withdrawn: 'Bool',
      amount: 'Decimal[23e+4]',
      day: 'Date32<DAY>',
    });
    const duck = await openDuckDb();
    const money = await duck.rows(`SELECT price::VARCHAR AS price, amount::VARCHAR AS amount FROM '${path}'`);
    expect(money.slice(0, 2)).toEqual([
      { price: '0.000000000000000125', amount: '9223372036854775807.0000' },
      { price: '-12.500000000000000000', amount: '-922337203685477.5807' },
    ]);
    expect(await duck.types(`'${path}'`)).toMatchObject({ price: 'DECIMAL(38,18)', amount: 'DECIMAL(23,4)' });
  });

  test('are read from a workbook unchanged: no formulas, numbers up to 15 digits as numbers, longer ones as exact text', async () => {
    const path = await write('xlsx');
    const sheets = (await readExcel(path, { trim: false })) as unknown as { sheet: string; data: unknown[][] }[];
    const [first] = sheets;
    expect(sheets.map((found) => found.sheet)).toEqual(['usage']);
    const [header, ...rows] = first?.data ?? [];
    expect(header).toEqual(['id', 'credits', 'price', 'percent', 'at', 'withdrawn', 'amount', 'day']);
    expect(rows.map((row) => row[0] ?? '')).toEqual(TEXTS);
    expect(rows.map((row) => row[1])).toEqual(
      TEXTS.map((_, index) => (index % 3 === 0 ? String(LARGEST - BigInt(index)) : -123_456_789_012_345)),
    );
    expect(rows.map((row) => row[2])).toEqual(
      TEXTS.map((_, index) => (index % 2 === 0 ? 0.000000000000000125 : -12.5)),
    );
    expect(rows.map((row) => row[4])).toEqual(TEXTS.map(() => new Date('2026-02-20T12:00:00.123Z')));
    expect(rows.map((row) => row[5])).toEqual(TEXTS.map((_, index) => index % 2 === 0));
    expect(rows.slice(0, 2).map((row) => row[6])).toEqual(['9223372036854775807', '-922337203685477.5807']);
    expect(rows.map((row) => row[7])).toEqual(TEXTS.map(() => new Date('2026-02-28')));
  });

  test('are read back from NDJSON and JSON', async () => {
    const lines = readFileSync(await write('ndjson'), 'utf8')
      .trimEnd()
      .split('\n');
    const rows = lines.map((line) => parseExact(line) as Record<string, unknown>);
    expect(rows.map(({ id }) => id)).toEqual(TEXTS);
    expect(rows.map(({ credits }) => credits)).toEqual([...sheet().rows].map(([, credits]) => credits));
    const document = parseExact(readFileSync(await write('json'), 'utf8'));
    expect(document).toEqual({ name: 'usage', rows });
  });

  test.each(['csv', 'json', 'ndjson', 'xlsx', 'parquet'] as const)(
    'a %s file without rows is valid',
    async (format) => {
      const path = join(temporaryFolder(), `none.${format}`);
      await writeSheetFile({ ...sheet(), rows: [] }, { path, format });
      if (format === 'parquet') {
        const { rows, types } = readBack(path);
        expect(rows).toEqual([]);
        expect(Object.keys(types)).toEqual(sheet().columns.map(({ name }) => name));
        const duck = await openDuckDb();
        expect(await duck.rows(`SELECT count(*) AS rows FROM '${path}'`)).toEqual([{ rows: 0n }]);
      }
      if (format === 'json') expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ name: 'usage', rows: [] });
      if (format === 'xlsx') expect(readFileSync(path).subarray(0, 2).toString()).toBe('PK');
      if (format === 'csv' || format === 'ndjson')
        expect(readFileSync(path, 'utf8')).toBe(
          format === 'csv' ? 'id,credits,price,percent,at,withdrawn,amount,day\r\n' : '',
        );
    },
  );

  test('a byte order mark and semicolons are written on request', async () => {
    const path = join(temporaryFolder(), 'rows.csv');
    await writeSheetFile(sheet(), { path, format: 'csv', style: { bom: true, isGerman: true } });
    expect(readFileSync(path, 'utf8').slice(0, 12)).toBe('\ufeffid;credits;');
  });
});

describe('a file', () => {
  test('is readable by its owner only, also when it replaces another file', async () => {
    const path = join(temporaryFolder(), 'rows.csv');
    writeFileSync(path, 'old');
    chmodSync(path, 0o644);
    await writeSheetFile(sheet(), { path, format: 'csv' });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).toMatch(/^id,/);
  });

  test('stays the old one, and nothing is left behind, if the rows cannot be read completely', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'rows.csv');
    writeFileSync(path, 'old');
    const rows = function* (): Generator<SheetValue[]> {
      yield ['acme', 1n, '1', 1, '2026-02-20T12:00:00Z', true, '1.50', '2026-02-20'];
      throw new Error('the disk is gone');
    };
    for (const format of ['csv', 'xlsx', 'parquet'] as const) {
      await expect(writeSheetFile({ ...sheet(), rows: rows() }, { path, format })).rejects.toThrow('the disk is gone');
    }
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['rows.csv']);
  });

  test('behind a link is unchanged: the link is replaced', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'real.csv'), 'old');
    symlinkSync('real.csv', join(folder, 'link.csv'));
    await writeSheetFile(sheet(), { path: join(folder, 'link.csv'), format: 'csv' });
    expect(readFileSync(join(folder, 'real.csv'), 'utf8')).toBe('old');
    expect(lstatSync(join(folder, 'link.csv')).isFile()).toBe(true);
    expect(readFileSync(join(folder, 'link.csv'), 'utf8')).toMatch(/^id,/);
  });

  test('at an impossible place is refused with an error', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'folder'));
    symlinkSync('folder', join(folder, 'to-folder'));
    for (const path of [
      join(folder, 'folder'),
      join(folder, 'to-folder'),
      join(folder, 'missing', 'rows.csv'),
      '/dev/null',
    ]) {
      await expect(writeAtomically(path, () => {})).rejects.toMatchObject({ code: 'usage' });
    }
  });
});
