import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defuseFormulas } from '../../../src/reports/formats/csv.ts';
import { renderCsv } from './render-csv.ts';

const OPERATORS = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
const LEADS = [
  '',
  ' ',
  '   ',
  '\t',
  '\r',
  '\n',
  '\u00a0',
  '\ufeff',
  ' \u00a0\ufeff ',
  '\u2003',
  '\u3000',
  '\u200b',
  '"',
  '\u0000',
];
const SEPARATORS = ['', 'a;', 'a,', 'a|', 'a\t', 'a\r\n', '";"'];
/** A thousand ids and more that some spreadsheet would run. */
const HOSTILE = OPERATORS.flatMap((operator) =>
  LEADS.flatMap((lead) => SEPARATORS.map((before) => `${before}${lead}${operator}cmd|'/c calc'!A1`)),
).concat(Array.from({ length: 300 }, (_, at) => `${LEADS[at % LEADS.length]}${OPERATORS[at % 8]}SUM(${at})`));

/** Cells as a spreadsheet cuts a file, whichever sign its locale separates by, in the dullest way: quotes mean nothing. */
function cells(file: string, separator: RegExp): string[] {
  return file.split(/\r\n|\r|\n/).flatMap((line) => line.split(separator));
}

test('of a thousand hostile ids no cell begins with a formula, whatever the file is cut by', () => {
  expect(HOSTILE.length).toBeGreaterThan(1000);
  for (const isGerman of [false, true]) {
    const file = renderCsv(
      HOSTILE.map((id) => ({ id, credits: 1n })),
      [
        { key: 'id', header: 'id' },
        { key: 'credits', header: 'credits' },
      ],
      { isGerman },
    );
    for (const separator of [/,/, /;/, /\t/, /[,;\t|]/]) {
      const found = cells(file, separator).filter((cell) => /^[\p{Z}\p{C}"]*[=+\-@＝＋－＠]/u.test(cell));
      expect(found).toEqual([]);
    }
  }
});

test('raw text is written as it is, for machines', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (id) => {
      const file = renderCsv([{ id }], [{ key: 'id', header: 'id' }], { raw: true });
      const field = file.slice('id\r\n'.length, -2);
      expect(field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field).toBe(id);
    }),
  );
});

test('text without an operator at the start of a cell stays as it is', () => {
  for (const text of ['acme', 'Smith & Co', 'a-b', 'a=b', '1+1', 'x@example.com', 'a, b', 'semi; colon']) {
    expect(defuseFormulas(text)).toBe(text);
  }
});

test('decimals keep their sign, and only where they are decimals', () => {
  const rows = [{ amount: '-12.50', id: '-12.50' }];
  const columns = [
    { key: 'amount', header: 'amount', kind: 'decimal' },
    { key: 'id', header: 'id' },
  ] as const;
  expect(renderCsv(rows, columns)).toBe("amount,id\r\n-12.50,'-12.50\r\n");
  expect(renderCsv([{ amount: '-1+1', id: '' }], columns)).toContain("'-1+1");
});

test('on a terminal control characters are shown, not sent', () => {
  const file = renderCsv([{ id: '\u001b[31mred\u0007\r\nsecond' }], [{ key: 'id', header: 'id' }], { terminal: true });
  expect(file).toBe('id\r\n\\u001b[31mred\\u0007\\u000d\\u000asecond\r\n');
});
