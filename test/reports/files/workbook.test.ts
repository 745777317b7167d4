import readExcel from 'read-excel-file/node';
import { expect, test } from 'vitest';
import type { Sheet } from '../../../src/reports/formats/columns.ts';
import { write } from './write-workbook.ts';

const CHARGES: Sheet = {
  name: 'charges 2026-02',
  columns: [
    { name: 'tenant_id', kind: 'id' },
    { name: 'credits', kind: 'credits', sum: true },
    { name: 'unit_price', kind: 'price' },
    { name: 'amount', kind: 'amount', sum: true },
    { name: 'currency', kind: 'text' },
    { name: 'as_of', kind: 'date' },
  ],
  rows: [
    ['007', 9_007_199_254_740_993n, '0.0125', '1234.50', 'EUR', '2026-03-01T06:00:00.000Z'],
    ['bolt', 7n, null, '-0.25', 'EUR', null],
    ['tokyo', 7500n, '1', '7500', 'JPY', '2026-03-01T06:00:00.000Z'],
    ['kuwait', null, null, '12.345', 'KWD', '0000-05-01T00:00:00.000Z'],
  ],
};

/** Returns the format of each cell of a row, from the workbook's styles. */
function formatsOf(parts: Record<string, string>, line: number): string[] {
  const styles = parts['xl/styles.xml'] ?? '';
  const codes = new Map(
    [...styles.matchAll(/<numFmt numFmtId="(\d+)" formatCode="([^"]*)"/g)].map(([, id, code]) => [id, code]),
  );
  const cells = [...(/<cellXfs.*<\/cellXfs>/.exec(styles)?.[0] ?? '').matchAll(/<xf numFmtId="(\d+)" fontId="(\d)"/g)];
  const row = new RegExp(`<row r="${line}">.*?</row>`).exec(parts['xl/worksheets/sheet1.xml'] ?? '')?.[0] ?? '';
  return [...row.matchAll(/<c r="[A-Z]+\d+" s="(\d+)"/g)].map(([, style]) => {
    const [, id, font] = cells[Number(style)] ?? [];
    return `${codes.get(id) ?? 'General'}${font === '1' ? ' bold' : ''}`;
  });
}

test('a workbook totals its rows below an empty row, with amounts by currency', async () => {
  const { path } = await write(CHARGES);
  const [sheet] = (await readExcel(path)) as unknown as { sheet: string; data: unknown[][] }[];
  expect(sheet?.sheet).toBe('charges 2026-02');
  expect(sheet?.data.slice(5)).toEqual([
    [null, null, null, null, null, null],
    ['Total', '9007199254748500', null, 1234.25, 'EUR', null],
    ['Total', null, null, 7500, 'JPY', null],
    ['Total', null, null, 12.345, 'KWD', null],
  ]);
});

test("cells are formatted by their kind: the currency's decimals, dates as dates, ids as text", async () => {
  const { path, parts } = await write(CHARGES);
  expect(formatsOf(parts, 1)).toEqual(CHARGES.columns.map(() => 'General bold'));
  const price = '#,##0.00################';
  expect(formatsOf(parts, 2)).toEqual(['@', 'General', price, '#,##0.00', 'General', 'yyyy-mm-dd hh:mm:ss']);
  expect(formatsOf(parts, 4)).toEqual(['@', '#,##0', price, '#,##0', 'General', 'yyyy-mm-dd hh:mm:ss']);
  expect(formatsOf(parts, 5)).toEqual(['@', '#,##0.000', 'General', 'General']);
  expect(formatsOf(parts, 9)).toEqual(['@ bold', '#,##0.000 bold', 'General bold']);
  const [sheet] = (await readExcel(path)) as unknown as { data: unknown[][] }[];
  expect(sheet?.data[1]?.[0]).toBe('007');
  expect(sheet?.data[1]?.[5]).toEqual(new Date('2026-03-01T06:00:00.000Z'));
  // Spreadsheets do not support this date.
  expect(sheet?.data[4]?.[5]).toBe('0000-05-01T00:00:00.000Z');
});

test('a printed page is landscape, fits the paper and begins with the header', async () => {
  const { parts } = await write(CHARGES);
  const xml = parts['xl/worksheets/sheet1.xml'] ?? '';
  expect(xml).toContain('<pageSetUpPr fitToPage="1"/>');
  expect(xml).toContain('<pageSetup orientation="landscape" fitToWidth="1" fitToHeight="0"/>');
  expect(xml).toContain('state="frozen"');
  expect(parts['xl/workbook.xml']).toContain(
    `<definedName name="_xlnm.Print_Titles" localSheetId="0">'charges 2026-02'!$1:$1</definedName>`,
  );
  expect(xml).not.toMatch(/<f[\s>/]/);
});
