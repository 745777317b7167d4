import fc from 'fast-check';
import { expect, test } from 'vitest';
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

test('any text is read back unchanged, except for the marks before formulas', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (tenant) => {
      const field = readCsv(renderCsv([{ tenant, credits: 1 }], columns))[1]?.[0] ?? '';
      expect(field.replaceAll("'", '')).toBe(tenant.replaceAll("'", ''));
    }),
  );
});
