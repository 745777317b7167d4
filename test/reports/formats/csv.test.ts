import { describe, expect, test } from 'vitest';
import { renderCsv } from './render-csv.ts';

/** Parses CSV by the grammar of RFC 4180, independently of the writer's library. */
function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let rest = text;
  let record: string[] = [];
  while (rest !== '') {
    const [, quoted, plain, end] = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/.exec(rest) ?? [];
    if (end === undefined) throw new Error(`not CSV: ${JSON.stringify(rest)}`);
    record.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    rest = rest.slice((quoted === undefined ? (plain ?? '').length : quoted.length + 2) + end.length);
    if (end === '\r\n') {
      records.push(record);
      record = [];
    }
  }
  return records;
}

const columns = [
  { key: 'tenant', header: 'tenant_id' },
  { key: 'credits', header: 'credits_used' },
] as const;

test('the first line has the headers and every line ends with CRLF', () => {
  expect(renderCsv([{ tenant: 'acme', credits: 12n }], columns)).toBe('tenant_id,credits_used\r\nacme,12\r\n');
});

test('only the headers are written without rows', () => {
  expect(renderCsv([], columns)).toBe('tenant_id,credits_used\r\n');
});

test('null is an empty field and a large bigint keeps all its digits', () => {
  const rows = [{ tenant: null, credits: 9_223_372_036_854_775_807n }];
  expect(readCsv(renderCsv(rows, columns))[1]).toEqual(['', '9223372036854775807']);
});

test('commas, quotes and line breaks inside a field do not break the file', () => {
  const hostile = 'a,b "c"\r\nd\re\nf';
  expect(readCsv(renderCsv([{ tenant: hostile, credits: 1 }], columns))[1]).toEqual([hostile, '1']);
});

describe('spreadsheet formulas', () => {
  test('negative numbers stay numbers', () => {
    const rows = [
      { tenant: 'a', credits: -5 },
      { tenant: 'b', credits: -5n },
    ];
    expect(renderCsv(rows, columns)).toContain('a,-5\r\nb,-5\r\n');
  });
});
