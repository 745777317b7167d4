import fc from 'fast-check';
import { parse } from 'lossless-json';
import { expect, test } from 'vitest';
import { documentPieces, renderJson } from '../../../src/reports/formats/json.ts';

test('a bigint beyond 2^53 is printed as an integer with all its digits', () => {
  expect(renderJson({ credits: 9_223_372_036_854_775_807n })).toBe('{\n  "credits": 9223372036854775807\n}\n');
});

test('any bigint comes back exactly from a lossless parser', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt()), (values) => {
      expect(parse(renderJson(values), null, (digits) => BigInt(digits))).toEqual(values);
    }),
  );
});

test('characters that a terminal acts upon are escaped and stay the same value', () => {
  const tenant = 'a\u009b31m\u202eb\u200bc\u{e0041}\x7f';
  const text = renderJson({ tenant });
  expect(text).toContain('"a\\u009b31m\\u202eb\\u200bc\\udb40\\udc41\\u007f"');
  expect(JSON.parse(text)).toEqual({ tenant });
});

test('undefined fields are left out', () => {
  expect(renderJson({ a: undefined, b: null })).toBe('{\n  "b": null\n}\n');
});

test('a document written row by row is the same to the byte', () => {
  const row = fc.record({
    id: fc.string({ unit: 'binary' }),
    credits: fc.bigInt(),
    inner: fc.array(fc.nat(), { maxLength: 2 }),
  });
  const head = fc.record({ filters: fc.dictionary(fc.string(), fc.string()) }, { requiredKeys: [] });
  fc.assert(
    fc.property(head, fc.array(row), (given, rows) => {
      expect([...documentPieces(given, rows)].join('')).toBe(renderJson({ ...given, rows }));
    }),
  );
  const many = Array.from({ length: 2500 }, (_, credits) => ({ credits }));
  const pieces = [...documentPieces({}, many)];
  expect(pieces).toHaveLength(2);
  const long = documentPieces({}, [{ text: 'x'.repeat(70_000) }, { text: 'y'.repeat(70_000) }]);
  expect([...long].map(({ length }) => length < 71_000)).toEqual([true, true, true]);
  expect(pieces.join('')).toBe(renderJson({ rows: many }));
});
