import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDecimal, formatInteger, relativeTime } from '../../../src/reports/formats/columns.ts';

test('integers have a comma between each three digits', () => {
  expect([0, 7, 999, 1000, -1000, 1_234_567].map(formatInteger)).toEqual([
    '0',
    '7',
    '999',
    '1,000',
    '-1,000',
    '1,234,567',
  ]);
});

test('the largest value of the ledger keeps all its digits', () => {
  expect(formatInteger(9_223_372_036_854_775_807n)).toBe('9,223,372,036,854,775,807');
  expect(formatInteger(-9_223_372_036_854_775_808n)).toBe('-9,223,372,036,854,775,808');
});

test('an integer without its commas is the original', () => {
  fc.assert(fc.property(fc.bigInt(), (value) => BigInt(formatInteger(value).replaceAll(',', '')) === value));
});

test('an amount is grouped before its point only, with its sign and all its digits', () => {
  const plain = ['0', '-0.50', '999.99', '1000', '-1234.50', '1234567.0001', '0.0125', '9223372036854775807.99'];
  const words = [
    '0',
    '-0.50',
    '999.99',
    '1,000',
    '-1,234.50',
    '1,234,567.0001',
    '0.0125',
    '9,223,372,036,854,775,807.99',
  ];
  expect(plain.map(formatDecimal)).toEqual(words);
});

test('a fraction is refused, because credits never have one', () => {
  expect(() => formatInteger(1.5)).toThrow(RangeError);
});

test('an age is formatted in one unit, rounded down', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  const ago = (ms: number) => relativeTime(now - ms, now);
  expect(ago(0)).toBe('just now');
  expect(ago(999)).toBe('just now');
  expect(ago(1000)).toBe('1 s ago');
  expect(ago(59_999)).toBe('59 s ago');
  expect(ago(3 * 60_000 + 59_000)).toBe('3 min ago');
  expect(ago(3_600_000)).toBe('1 h ago');
  expect(ago(24 * 3_600_000)).toBe('1 day ago');
  expect(ago(49 * 3_600_000)).toBe('2 days ago');
  expect(ago(-2 * 3_600_000)).toBe('in 2 h');
});
