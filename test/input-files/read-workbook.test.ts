import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readTable, type TableFileRequest } from '../../src/input-files/read-table.ts';
import { rejection } from '../support/rejection.ts';
import { rowsXml, type WorkbookParts, workbook, workbookFiles, zipped } from './write-workbook.ts';

const COLUMNS: TableFileRequest = { required: ['customer', 'net'] };
const HEADER = ['customer', 'net'];
/** Styles 0 to 5: general, a built-in date, a format of its own for dates, one for money, one for hours, text. */
const STYLES =
  '<numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="#,##0.00\\ &quot;days&quot;;[Red]\\-#,##0.00"/>' +
  '<numFmt numFmtId="166" formatCode="[h]:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>' +
  '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="49"/></cellXfs>';

const open = (bytes: Buffer, request = COLUMNS) => readTable({ name: 'inv.xlsx', bytes }, request);
const one = (xml: string, parts: Partial<WorkbookParts> = {}) => workbook({ sheets: [{ name: 'May', xml }], ...parts });

async function nets(bytes: Buffer, request = COLUMNS): Promise<(string | undefined)[]> {
  return (await open(bytes, request)).rows.map(({ record }) => record.net);
}

async function refusal(bytes: Buffer, request = COLUMNS) {
  const error = await rejection(open(bytes, request));
  return { message: error.message, hint: (error as { hint?: string }).hint };
}

function fixture(name: string): Buffer {
  return readFileSync(new URL(`fixtures/${name}`, import.meta.url));
}

test('invoices.xlsx has the four invoices, customers.xlsx the two customers', async () => {
  const { rows } = await open(fixture('invoices.xlsx'));
  expect(rows.map(({ record }) => record)).toEqual([
    { customer: 'acme', net: '1200' },
    { customer: 'beta', net: '45.5' },
    { customer: 'gamma', net: '12345.67' },
    { customer: 'delta, inc', net: '0.99' },
  ]);
  const names = await open(fixture('customers.xlsx'), { required: ['tenant_id'], keepsOthers: true });
  expect(names.rows.map(({ record }) => record)).toEqual([
    { tenant_id: 'acme', display_name: 'Acme Ltd', external_ref: 'cus_1' },
    { tenant_id: 'beta', display_name: 'Beta GmbH', external_ref: 'cus_2' },
  ]);
});

test.each([
  ['45.5', '45.5'],
  ['1200.00', '1200'],
  ['45.499999999999996', '45.5'],
  ['0.30000000000000004', '0.3'],
  ['-0.30000000000000004', '-0.3'],
  ['999999999999999.96', '1000000000000000'],
  ['1234567890123456.5', null],
  ['99999999999999.96', '100000000000000'],
  ['1234567.8949999999', '1234567.895'],
  ['1.2E3', '1200'],
  ['4.55E-1', '0.455'],
  ['1E-2', '0.01'],
  ['9007199254740993', '9007199254740993'],
  ['1.2345678901234567E+19', null],
  ['1e400', null],
  ['-0', '0'],
  ['007', '7'],
  ['.5', '0.5'],
])('the stored number %s is %s', async (raw, expected) => {
  const bytes = one(rowsXml([HEADER, ['a', `<c><v>${raw}</v></c>`]]));
  if (expected === null) {
    const message = `inv.xlsx, cell B2 (column net): the number "${raw}" has more digits than a workbook keeps`;
    expect((await refusal(bytes)).message).toBe(message);
    return;
  }
  const [row] = (await open(bytes)).rows;
  expect([row?.record.net, row?.numbers.has('net')]).toEqual([expected, true]);
});

test.each<[what: string, cell: string, text: string, parts?: Partial<WorkbookParts>]>([
  ['an id that is a number', '<c><v>1234</v></c>', '1234'],
  ['a number in parts', '<c><v>4&#53;<!-- -->.5</v></c>', '45.5'],
  ['a shared string', '<c t="s"><v>0</v></c>', 'shared', { strings: '<si><t>shared</t></si>' }],
  [
    'a shared string in parts, with its reading',
    '<c t="s"><v>1</v></c>',
    'Acme & Co',
    {
      strings:
        '<si><t>x</t></si><si><r><t>Acme</t></r><r><t xml:space="preserve"> &amp; Co</t></r><rPh sb="0" eb="1"><t>reading</t></rPh></si>',
    },
  ],
  ['an inline string in parts', '<c t="inlineStr"><is><r><t>Ac</t></r><r><t>me</t></r></is></c>', 'Acme'],
  ['CDATA', '<c t="str"><v><![CDATA[a<b]]></v></c>', 'a<b'],
  ['the result of a formula', '<c><f>SUM(B1:B1)</f><v>45.5</v></c>', '45.5'],
  ['the text of a formula', '<c t="str"><f>A1</f><v>x_x000D_y</v></c>', 'x\ry'],
  ['the empty text of a formula', '<c t="str"><f>""</f><v></v></c>', ''],
  ['a boolean', '<c t="b"><v>1</v></c>', 'TRUE'],
  ['a date of Excel', '<c s="1"><v>46327</v></c>', '2026-11-01', { styles: STYLES }],
  [
    'a date in a format of the workbook, with a time',
    '<c s="2"><v>46327.5</v></c>',
    '2026-11-01T12:00:00',
    { styles: STYLES },
  ],
  ['a date from 1904', '<c s="1"><v>44865</v></c>', '2026-11-01', { styles: STYLES, is1904: true }],
  ['a date before the day that never was', '<c s="1"><v>59</v></c>', '1900-02-28', { styles: STYLES }],
  ['money whose format has words', '<c s="3"><v>46327</v></c>', '46327', { styles: STYLES }],
  ['hours', '<c s="4"><v>0.5</v></c>', '12:00:00', { styles: STYLES }],
  ['a number that is formatted as text', '<c s="5"><v>12</v></c>', '12', { styles: STYLES }],
  ['an ISO date', '<c t="d"><v>2026-11-01</v></c>', '2026-11-01'],
])('a cell with %s is read', async (_, cell, text, parts) => {
  expect(await nets(one(rowsXml([HEADER, ['a', cell]]), parts))).toEqual([text]);
});

test.each([
  [
    'an error',
    '<c t="e"><v>#REF!</v></c>',
    'the cell has the error #REF!',
    'correct the formula, and save the workbook',
  ],
  [
    'an error of a formula',
    '<c t="e"><f>1/0</f><v>#DIV/0!</v></c>',
    'the cell has the error #DIV/0!',
    'correct the formula, and save the workbook',
  ],
  [
    'a formula that nobody calculated',
    '<c><f>1+1</f></c>',
    'the formula has no stored result',
    'open the workbook in Excel or LibreOffice, and save it',
  ],
  [
    'a formula with an empty result',
    '<c><f>1+1</f><v></v></c>',
    'the formula has no stored result',
    'open the workbook in Excel or LibreOffice, and save it',
  ],
])('a cell with %s is refused with its address', async (_, cell, problem, hint) => {
  const xml = rowsXml([['Title'], HEADER, ['a', 1], ['b', cell]], 3);
  expect(await refusal(one(xml))).toEqual({ message: `inv.xlsx, cell B6 (column net): ${problem}`, hint });
  // Whoever does not read the column has no use for its cell.
  expect((await open(one(xml), { required: ['customer'] })).rows).toHaveLength(2);
});

test('titles, blank rows, a repeated header and notes at the side are no rows, and addresses are those of the sheet', async () => {
  const xml = rowsXml(
    [
      ['Invoices, May', null, null],
      [null, null, null, 'draft'],
      [null, 'Customer', ' NET\u00a0'],
      ['', 'a', 1],
      [null, ' ', ''],
      [null, 'Customer', 'NET'],
      [null, 'b', '2,50', 'paid late'],
      [null, 'c'],
    ],
    4,
  );
  const { rows, place } = await open(one(`${xml}<mergeCells><mergeCell ref="A4:C4"/></mergeCells>`));
  expect(rows.map(({ record }) => record)).toEqual([
    { customer: 'a', net: '1' },
    { customer: 'b', net: '2,50' },
    { customer: 'c', net: '' },
  ]);
  expect(rows.map((row) => [place(row, 'net'), row.numbers.has('net')])).toEqual([
    ['inv.xlsx, cell C7 (column net)', true],
    ['inv.xlsx, cell C10 (column net)', false],
    ['inv.xlsx, cell C11 (column net)', false],
  ]);
});

test('the first sheet that is shown is read, or the one that is named', async () => {
  const sheet = (name: string, net: number, state?: string) => ({
    name,
    xml: rowsXml([HEADER, ['a', net]]),
    ...(state === undefined ? {} : { state }),
  });
  const bytes = workbook({
    sheets: [sheet('Old', 1, 'hidden'), sheet('May', 2), sheet('June &amp; July', 3), sheet('Deep', 4, 'veryHidden')],
  });
  expect(await nets(bytes)).toEqual(['2']);
  expect(await nets(bytes, { ...COLUMNS, sheet: 'June & July' })).toEqual(['3']);
  expect(await nets(bytes, { ...COLUMNS, sheet: ' old' })).toEqual(['1']);
  expect(await refusal(bytes, { ...COLUMNS, sheet: 'August' })).toEqual({
    message: 'inv.xlsx has no sheet "August"',
    hint: 'it has "Old" (hidden), "May", "June & July", "Deep" (hidden)',
  });
  expect(await refusal(workbook({ sheets: [sheet('Old', 1, 'hidden')] }))).toMatchObject({
    message: 'inv.xlsx has no visible sheet with cells: "Old" (hidden)',
  });
});

test('where the first sheet lacks a column, the others are named', async () => {
  const bytes = workbook({
    sheets: [
      { name: 'Cover', xml: rowsXml([['Invoices'], ['Customers', 'Net']]) },
      { name: 'Data', xml: rowsXml([HEADER, ['a', 1]]) },
    ],
  });
  expect(await refusal(bytes)).toEqual({
    message: 'inv.xlsx, sheet "Cover" has no column customer (row 2 has Customers, Net)',
    hint: 'did you mean "Customers"? Or name another sheet by --sheet: "Data"',
  });
});

test.each([
  ['a sheet without cells', one(''), 'inv.xlsx has no rows'],
  ['only a header', one(rowsXml([['Title'], HEADER, ['', null]])), 'inv.xlsx has no rows below its header (row 2)'],
  [
    'rows that go back',
    one('<row r="2"><c r="A2"><v>1</v></c></row><row r="1"/>'),
    'inv.xlsx is a damaged Excel workbook',
  ],
  [
    'a column that no sheet has',
    one('<row r="1"><c r="ZZZ1"><v>1</v></c></row>'),
    'inv.xlsx is a damaged Excel workbook',
  ],
  [
    'a string that is not there',
    one('<row r="1"><c r="A1" t="s"><v>7</v></c></row>'),
    'inv.xlsx is a damaged Excel workbook',
  ],
])('a workbook with %s is refused', async (_, bytes, message) => {
  expect((await refusal(bytes)).message).toBe(message);
});

test('other forms of the same XML are read: prefixes, no addresses, the strict form, UTF-16, other names of parts', async () => {
  const files = workbookFiles({
    sheets: [
      {
        name: 'May',
        xml: '<row><c t="inlineStr"><is><t>customer</t></is></c><c t="inlineStr"><is><t>net</t></is></c></row><row/><row spans="1:2"><c t="inlineStr"><is><t>a</t></is></c><c><v>1.5</v></c></row>',
      },
    ],
  });
  const sheet = files['xl/worksheets/sheet1.xml'] ?? '';
  expect(await nets(zipped(files))).toEqual(['1.5']);
  const prefixed = sheet.replace('xmlns=', 'xmlns:x=').replace(/<(\/?)(?=[a-z])/g, '<$1x:');
  expect(await nets(zipped({ ...files, 'xl/worksheets/sheet1.xml': prefixed }))).toEqual(['1.5']);
  const strict = (name: string) =>
    (files[name] ?? '').replaceAll(
      'http://schemas.openxmlformats.org/officeDocument/2006/relationships',
      'http://purl.oclc.org/ooxml/officeDocument/relationships',
    );
  expect(await nets(zipped({ ...files, 'xl/_rels/workbook.xml.rels': strict('xl/_rels/workbook.xml.rels') }))).toEqual([
    '1.5',
  ]);
  const { 'xl/workbook.xml': book = '', 'xl/_rels/workbook.xml.rels': relations = '', ...others } = files;
  const moved = {
    ...others,
    '_rels/.rels': (files['_rels/.rels'] ?? '').replace('xl/workbook.xml', '/XL/Book.xml'),
    'xl/book.xml': book,
    'xl/_rels/book.xml.rels': relations,
  };
  expect(await nets(zipped(moved))).toEqual(['1.5']);
});

test('a sheet of many chunks loses no digit', async () => {
  const count = 60_000;
  const rows = Array.from({ length: count }, (_, at) => ['tenant', `<c><v>${at}.25</v></c>`]);
  const read = await nets(one(rowsXml([HEADER, ...rows])));
  expect(read).toEqual(Array.from({ length: count }, (_, at) => `${at}.25`));
});

test('one cell far off takes no more room than its own', async () => {
  const rows = Array.from(
    { length: 20_000 },
    (_, at) => `<row r="${at + 2}"><c r="A${at + 2}"><v>1</v></c><c r="XFD${at + 2}"><v>1</v></c></row>`,
  );
  const before = process.memoryUsage().heapUsed;
  expect(await nets(one(rowsXml([HEADER]) + rows.join('')))).toHaveLength(20_000);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(300e6);
});

test('a flipped bit, a size that is not so and a bomb are refused', async () => {
  const bytes = one(rowsXml([HEADER, ['a', 1]]));
  const directory = bytes.lastIndexOf(Buffer.from('xl/worksheets/sheet1.xml')) - 46;
  const damaged = 'inv.xlsx is a damaged Excel workbook';
  const changed = (at: number, change: (copy: Buffer) => void) => {
    const copy = Buffer.from(bytes);
    expect(copy.readUInt32LE(at)).toBe(0x02014b50);
    change(copy);
    return copy;
  };
  const announces = (size: number) => changed(directory, (copy) => copy.writeUInt32LE(size, directory + 24));
  expect((await refusal(changed(directory, (copy) => copy.writeUInt32LE(1, directory + 16)))).message).toBe(damaged);
  expect((await refusal(announces(50))).message).toBe(damaged);
  expect((await refusal(announces(5000))).message).toBe(damaged);
  expect(await refusal(announces(3_000_000_000))).toEqual({
    message: 'inv.xlsx unpacks to 2862 MiB; the limit is 512 MiB',
    hint: 'split the workbook, or save it as CSV',
  });
});
