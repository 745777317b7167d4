import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defuseFormulas } from '../../../src/reports/formats/csv.ts';
import { renderCsv } from './render-csv.ts';

// cspell:ignore mred

test('raw text is written unchanged', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (id) => {
      const file = renderCsv([{ id }], [{ key: 'id', header: 'id' }], { raw: true });
      const field = file.slice('id\r\n'.length, -2);
      expect(field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field).toBe(id);
    }),
  );
});

test('text without an operator at the start of a cell is unchanged', () => {
  for (const text of ['acme', 'Smith & Co', 'a-b', 'a=b', '1+1', 'x@example.com', 'a, b', 'semi; colon']) {
    expect(defuseFormulas(text)).toBe(text);
  }
});

test('decimals keep their sign, in columns of decimals only', () => {
  const rows = [{ amount: '-12.50', id: '-12.50' }];
  const columns = [
    { key: 'amount', header: 'amount', kind: 'decimal' },
    { key: 'id', header: 'id' },
  ] as const;
  expect(renderCsv(rows, columns)).toBe("amount,id\r\n-12.50,'-12.50\r\n");
  expect(renderCsv([{ amount: '-1+1', id: '' }], columns)).toContain("'-1+1");
});

test('control characters are escaped on a terminal', () => {
  const file = renderCsv([{ id: '\u001b[31mred\u0007\r\nsecond' }], [{ key: 'id', header: 'id' }], { terminal: true });
  expect(file).toBe('id\r\n\\u001b[31mred\\u0007\\u000d\\u000asecond\r\n');
});
