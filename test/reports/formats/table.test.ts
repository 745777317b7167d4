import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TableColumn } from '../../../src/reports/formats/columns.ts';
import { renderTable, textWidth, wrapText } from '../../../src/reports/formats/table.ts';
import { startCpuTime } from '../../support/time/test-clock.ts';

// cspell:ignore mbad mgood

interface Row {
  tenant: string;
  credits: bigint | null;
}

const columns: readonly TableColumn<Row>[] = [
  { name: 'tenant', header: 'Tenant' },
  { name: 'credits', header: 'Credits' },
];

test('numbers have separators and are aligned right below their header', () => {
  const rows = [
    { tenant: 'acme', credits: 1_234_567n },
    { tenant: 'a longer one', credits: null },
  ];
  expect(renderTable(rows, columns)).toBe(
    ['Tenant          Credits', '───────────────────────', 'acme          1,234,567', 'a longer one'].join('\n'),
  );
});

test('without rows the headers are shown', () => {
  expect(renderTable([], columns)).toBe('Tenant  Credits');
});

test('on a narrow terminal a header of several words wraps before a cell does', () => {
  const rows = [{ tenant: 'acme different', credits: 12n }];
  const wordy: readonly TableColumn<Row>[] = [
    { name: 'tenant', header: 'Tenant' },
    { name: 'credits', header: 'Invoiced credits' },
  ];
  expect(renderTable(rows, wordy, { width: 24 })).toBe(
    [
      'Tenant          Invoiced',
      '                 credits',
      '────────────────────────',
      'acme different        12',
    ].join('\n'),
  );
  expect(renderTable(rows, wordy, { width: 80 })).toContain('Invoiced credits');
});

test('a tenant cannot act on the terminal or forge a row', () => {
  const rows = [{ tenant: 'evil\x1b[2J\r\nacme  9,999\u202e', credits: 1n }];
  const table = renderTable(rows, columns, { color: true });
  expect(table.split('\n')).toHaveLength(3);
  expect(table).toContain('evil\\u001b[2J\\u000d\\u000aacme  9,999\\u202e');
  expect(table).not.toContain('\x1b[2J');
});

test("the result of a column's format function is escaped too", () => {
  const table = renderTable([{ name: 'x' }], [{ name: 'name', header: 'Name', words: (name) => `${name}\x1b[31m` }]);
  expect(table).toContain('x\\u001b[31m');
});

test('colours appear only on request and do not change the layout', () => {
  const styled: readonly TableColumn<Row>[] = [
    { name: 'tenant', header: 'Tenant', style: (tenant) => (tenant === 'bad' ? 'red' : undefined) },
    { name: 'credits', header: 'Credits' },
  ];
  const rows = [
    { tenant: 'bad', credits: 1n },
    { tenant: 'good', credits: 2n },
  ];
  const plain = renderTable(rows, styled);
  const coloured = renderTable(rows, styled, { color: true });
  expect(plain).not.toContain('\x1b');
  expect(coloured).toContain('\x1b[31mbad\x1b[39m');
  expect(coloured).not.toContain('\x1b[31mgood');
  expect(stripVTControlCharacters(coloured)).toBe(plain);
});

test('long text wraps to the width of the terminal and numbers stay whole', () => {
  const tenant = 'tenant-with-a-name-that-does-not-fit-anywhere';
  const table = renderTable([{ tenant, credits: 9_223_372_036_854_775_807n }], columns, { width: 50 });
  expect(table).toContain('9,223,372,036,854,775,807');
  for (const line of table.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(50);
  const pieces = table.split('\n').slice(2);
  expect(pieces.map((line) => line.slice(0, 23).trim()).join('')).toBe(tenant);
});

test('an id too long for the terminal keeps both ends, and is complete without a terminal', () => {
  const ids: readonly TableColumn<Row>[] = [{ name: 'tenant', header: 'Tenant', kind: 'id' }, ...columns.slice(1)];
  const rows = ['a', 'b'].map((end) => ({ tenant: `tenant-${'0'.repeat(240)}-${end}`, credits: 1n }));
  expect(renderTable(rows, ids, { width: 40 }).split('\n').slice(2)).toEqual([
    'tenant-00000000…0000000000000-a        1',
    'tenant-00000000…0000000000000-b        1',
  ]);
  const wide = renderTable([{ tenant: '株式会社🚀'.repeat(20), credits: 1n }], ids, { width: 30 });
  for (const line of wide.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(30);
  expect(wide).toMatch(/^株式.*….*社🚀 /m);
  expect(renderTable(rows, ids)).toContain(rows[0]?.tenant);
});

test('a number is not cut even when the terminal is narrower than it', () => {
  const table = renderTable([{ tenant: 'acme', credits: 9_223_372_036_854_775_807n }], columns, { width: 20 });
  expect(table.split('\n')[2]).toBe('acme    9,223,372,036,854,775,807');
});

test('wide characters keep the columns in line', () => {
  const rows = [
    { tenant: '株式会社', credits: 1n },
    { tenant: 'abcd', credits: 22n },
  ];
  const widths = renderTable(rows, columns)
    .split('\n')
    .map((line) => textWidth(line));
  expect(new Set(widths).size).toBe(1);
});

test('thousands of rows are drawn in line, one line each and in order', () => {
  const rows = Array.from({ length: 5000 }, (_, index) => ({ tenant: `t${index}`, credits: BigInt(index) }));
  const lines = renderTable(rows, columns).split('\n');
  expect(lines).toHaveLength(5002);
  expect(lines[2]).toMatch(/^t0 +0$/);
  expect(lines[5001]).toMatch(/^t4999 +4,999$/);
  expect(new Set(lines.map((line) => line.length)).size).toBe(1);
});

test('a wrapped line never exceeds its width and no letter is lost', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '日', 'é', '🚀', '-') });
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 20 }), (words, width) => {
      const lines = wrapText(words, width);
      for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
      expect(lines.join('').replaceAll(' ', '')).toBe(words.replaceAll(' ', ''));
    }),
  );
});

test.each([
  ['letters', 'x'.repeat(200_000)],
  ['wide characters', '株'.repeat(200_000)],
  ['combined characters', 'e\u0301'.repeat(100_000)],
  ['control characters', '\x1b'.repeat(200_000)],
])('a hundred ids of 200,000 %s are drawn within two seconds, clipped', (_, id) => {
  const rows = Array.from({ length: 100 }, (_, index) => ({ tenant: id, credits: BigInt(index) }));
  for (const options of [{}, { width: 80 }]) {
    const spent = startCpuTime();
    const table = renderTable(rows, columns, options);
    expect(spent()).toBeLessThan(2_000);
    expect(table).toContain('…');
    expect(table).toMatch(/ 99$/m);
    for (const line of table.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(options.width ?? 2_100);
  }
});

test('the longest allowed id is not clipped without a terminal', () => {
  const tenant = 'x'.repeat(1_024);
  expect(renderTable([{ tenant, credits: 1n }], columns)).toContain(`${tenant}  `);
});

test('a clipped text keeps its characters whole', () => {
  const table = renderTable([{ tenant: `x${'🚀'.repeat(1_000)}`, credits: 1n }], columns);
  expect(table).toMatch(/x🚀+…/u);
  expect(table).not.toMatch(/\\u/);
});
