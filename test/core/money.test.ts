import { expect, test } from 'vitest';
import { formatMinor, isCurrency, minorDigits, parseMinor } from '../../src/core/money.ts';

test('a currency has the minor-unit decimals of ISO 4217', () => {
  const digits = ['EUR', 'USD', 'JPY', 'KRW', 'KWD', 'IQD', 'CLF', 'ISK', 'HUF'].map((code) => minorDigits(code));
  expect(digits).toEqual([2, 2, 0, 0, 3, 3, 4, 0, 2]);
});

test('metals, test codes and units of account are not currencies', () => {
  for (const code of ['eur', 'XXX', 'XAU', 'CREDITS', '', 'EU', 'constructor']) expect(isCurrency(code)).toBe(false);
  expect(() => minorDigits('XTS')).toThrow(RangeError);
});

test('minor units are formatted as an exact decimal of the currency', () => {
  expect(formatMinor(5n, 'EUR')).toBe('0.05');
  expect(formatMinor(-1234n, 'EUR')).toBe('-12.34');
  expect(formatMinor(-7n, 'JPY')).toBe('-7');
  expect(formatMinor(9_223_372_036_854_775_807n, 'KWD')).toBe('9223372036854775.807');
});

test('only a plain decimal is parsed as minor units', () => {
  expect(['12.5', '-0.05', '7', '1.500'].map((text) => parseMinor(text, 'EUR'))).toEqual([1250n, -5n, 700n, 150n]);
  expect(parseMinor('9223372036854775.807', 'KWD')).toBe(9_223_372_036_854_775_807n);
  for (const text of ['', '1.505', '1,50', '1,000.00', '1e3', '.5', 'x']) expect(parseMinor(text, 'EUR')).toBeNull();
});
