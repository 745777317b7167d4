import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readTable, type TableFileRequest } from '../../src/input-files/read-table.ts';
import { rejection } from '../support/rejection.ts';

const COLUMNS: TableFileRequest = { required: ['customer', 'net'] };
const INVOICES = [
  { customer: 'acme', net: '1200.00' },
  { customer: 'beta', net: '45.50' },
  { customer: 'gamma', net: '12345.67' },
  { customer: 'delta, inc', net: '0.99' },
];

function fixture(name: string): Buffer {
  return readFileSync(new URL(`fixtures/${name}`, import.meta.url));
}

async function records(bytes: Buffer | string, request = COLUMNS) {
  const { rows } = await readTable({ name: 'inv.csv', bytes: Buffer.from(bytes) }, request);
  return rows.map(({ record }) => record);
}

async function refusal(bytes: Buffer | string, request = COLUMNS) {
  const error = await rejection(readTable({ name: 'inv.csv', bytes: Buffer.from(bytes) }, request));
  return { message: error.message, code: (error as { code?: string }).code, hint: (error as { hint?: string }).hint };
}

test.each([
  'invoices-blank-rows.csv',
  'invoices-header-case.csv',
  'invoices-short-rows.csv',
  'invoices-title-lines.csv',
])('%s has the four invoices', async (name) => {
  expect(await records(fixture(name))).toEqual(INVOICES);
});

test.each([
  ['no bytes', fixture('invoices-empty.csv'), 'inv.csv is empty (0 bytes)'],
  ['a byte-order mark alone', '\ufeff', 'inv.csv is empty: it has only blank lines'],
  ['blank lines', '\r\n \n\n', 'inv.csv is empty: it has only blank lines'],
  ['a header', 'customer,net\n', 'inv.csv has no rows below its header (line 1)'],
  ['a header and delimiters', 'customer,net\n,\n\n , \n', 'inv.csv has no rows below its header (line 1)'],
  ['a title and a header', 'Export;of;May\n\ncustomer;net\n', 'inv.csv has no rows below its header (line 3)'],
])('a file with only %s is refused', async (_, bytes, message) => {
  expect(await refusal(bytes)).toMatchObject({ message, code: 'usage' });
});

const TEXT = 'customer;net\nMüller;1,50\n';
test.each([
  ['UTF-8', Buffer.from(TEXT)],
  ['UTF-8 with a mark', Buffer.from(`\ufeff${TEXT}`)],
  ['UTF-16 LE with a mark', Buffer.from(`\ufeff${TEXT}`, 'utf16le')],
  ['UTF-16 BE with a mark', Buffer.from(`\ufeff${TEXT}`, 'utf16le').swap16()],
  ['UTF-16 LE without a mark', Buffer.from(TEXT, 'utf16le')],
  ['UTF-16 BE without a mark', Buffer.from(TEXT, 'utf16le').swap16()],
  ['Windows-1252', Buffer.from(TEXT, 'latin1')],
])('%s is decoded', async (_, bytes) => {
  expect(await records(bytes)).toEqual([{ customer: 'Müller', net: '1,50' }]);
});

test('text without Latin letters is decoded by its mark', async () => {
  const bytes = Buffer.from(`\ufeff${'顧客一覧'.repeat(200)}\ncustomer,net\n東京,1\n`, 'utf16le').swap16();
  expect(await records(bytes)).toEqual([{ customer: '東京', net: '1' }]);
});

test.each([
  ['a title with the delimiter', 'Invoices, May, "final", all\n\ncustomer,net\na,1\n', [{ customer: 'a', net: '1' }]],
  ['a title with another delimiter', 'A;B;C;D\ncustomer,net\na,1\n', [{ customer: 'a', net: '1' }]],
  ['tabs', 'Title, of, it\ncustomer\tnet\na, b\t1\n', [{ customer: 'a, b', net: '1' }]],
  ['a name for its delimiter', 'sep=|\ncustomer|net\na;b|1\n', [{ customer: 'a;b', net: '1' }]],
  [
    'line ends of three systems',
    'customer,net\r\na,1\nb,2\rc,3',
    [
      { customer: 'a', net: '1' },
      { customer: 'b', net: '2' },
      { customer: 'c', net: '3' },
    ],
  ],
  ['a header over two lines', 'customer,"net\namount",net\na,x,1\n', [{ customer: 'a', net: '1' }]],
  ['spaces that do not break in its header', '\u00a0Customer\u00a0,Net \na,1\n', [{ customer: 'a', net: '1' }]],
  ['asterisks in its header', '*Customer,* Net\na,1\n', [{ customer: 'a', net: '1' }]],
  [
    'its header once more below',
    'customer,net\na,1\ncustomer,net\nb,2\n',
    [
      { customer: 'a', net: '1' },
      { customer: 'b', net: '2' },
    ],
  ],
  ['empty columns at the end', 'customer,net,,\na,1,,,,\n', [{ customer: 'a', net: '1' }]],
  ['a quoted line break', 'customer,net\n"a\nb",1\n', [{ customer: 'a\nb', net: '1' }]],
])('a file with %s is read', async (_, text, expected) => {
  expect(await records(text)).toEqual(expected);
});

test('texts keep their case and their surrounding space, and lines are those of the file', async () => {
  const text = 'Title\n\ncustomer,net\n\n Acme ,1\n"two\nlines",2\n';
  const { rows, place } = await readTable({ name: 'inv.csv', bytes: Buffer.from(text) }, COLUMNS);
  expect(rows.map(({ record }) => record.customer)).toEqual([' Acme ', 'two\nlines']);
  expect(rows.map((row) => place(row, 'net'))).toEqual(['inv.csv, line 5, column net', 'inv.csv, line 7, column net']);
});

test.each([
  [
    'a missing column',
    'Customer,Amount\na,1\n',
    'inv.csv has no column net (line 1 has Customer, Amount)',
    'name columns as the header of the file does',
  ],
  [
    'a column that is spelt otherwise',
    'Report\nCustomers,Net\na,1\n',
    'inv.csv has no column customer (line 2 has Customers, Net)',
    'did you mean "Customers"?',
  ],
  [
    'two columns of one name',
    'Customer, NET ,net\na,1,2\n',
    'inv.csv, line 1: two columns are called "net" (" NET " and "net")',
    'rename or remove one of them',
  ],
  [
    'cells beyond the header',
    'T\ncustomer,net\na,1\nb,1,200.50\n',
    'inv.csv, line 4: has 3 cells, but the header (line 2) has 2',
    'put values that contain the delimiter in double quotes, and remove cells without a column name',
  ],
  [
    'a quote that is never closed',
    'T\ncustomer,net\n"a,1\n',
    'inv.csv, line 3: a value begins with a double quote and never ends',
    'close it, or remove the quote',
  ],
  [
    'a quote inside a value',
    'customer,net\na,1\nb"c,1\n',
    'inv.csv, line 3: a double quote is inside a value',
    'write a double quote inside a value twice, and put the value in double quotes',
  ],
])('a file with %s is refused', async (_, text, message, hint) => {
  expect(await refusal(text)).toEqual({ message, code: 'usage', hint });
});

test('further columns are kept under their own names, without those that have none', async () => {
  const request = { required: ['tenant_id'], optional: ['display_name'], keepsOthers: true };
  expect(await records('TENANT_ID,Region,,Display_Name\na,north,x,A\n', request)).toEqual([
    { tenant_id: 'a', Region: 'north', display_name: 'A' },
  ]);
  expect((await refusal('tenant_id,x, x\na,1,2\n', request)).message).toContain('two columns are called "x"');
});

test('a sheet cannot be chosen in a text file', async () => {
  const { message, hint } = await refusal('customer,net\na,1\n', { ...COLUMNS, sheet: 'May' });
  expect([message, hint]).toEqual(['inv.csv is a text file, which has no sheets', 'leave out --sheet']);
});
