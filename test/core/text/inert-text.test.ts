import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { inertJson, inertText } from '../../../src/core/text/inert-text.ts';

// cspell:ignore söhne שלום مرحبا

test('escape sequences and control characters are shown, not obeyed', () => {
  expect(inertText('\x1b[2J\x1b]0;owned\x07')).toBe('\\u001b[2J\\u001b]0;owned\\u0007');
  expect(inertText('a\r\nb\tc\x7f\u009b31m')).toBe('a\\u000d\\u000ab\\u0009c\\u007f\\u009b31m');
});

test('characters that reorder or hide text are shown', () => {
  expect(inertText('abc\u202egnp.exe')).toBe('abc\\u202egnp.exe');
  expect(inertText('\u2066x\u2069')).toBe('\\u2066x\\u2069');
  expect(inertText('te\u200bnant\ufeff\u00ad')).toBe('te\\u200bnant\\ufeff\\u00ad');
  expect(inertText('\u0600\ufff9')).toBe('\\u0600\\ufff9');
  expect(inertText('a\u2028b\u3164c\u{e0041}')).toBe('a\\u2028b\\u3164c\\u{e0041}');
});

test('a surrogate without its partner is shown', () => {
  expect(inertText('a\ud800b')).toBe('a\\ud800b');
});

test('ordinary text of any script is unchanged', () => {
  for (const text of ['Müller & Söhne', '株式会社 東京', 'שלום', 'مرحبا', '🚀 rocket', "O'Neil <x>", '']) {
    expect(inertText(text)).toBe(text);
  }
});

test('no text keeps a character that a terminal acts on', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(inertText(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    }),
  );
});

const HOSTILE = '\u001b[31m\u0000\r\n\u007f\u009b\u200b\u200e\u202e\u2028\u2066\u2069\ufeff\u3164\u{e0041}\ud800';

describe('inert JSON', () => {
  it('parses to the same value', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), (value) => {
        const json = JSON.stringify(value);
        expect(JSON.parse(inertJson(json))).toEqual(JSON.parse(json));
      }),
    );
    expect(JSON.parse(inertJson(JSON.stringify(HOSTILE)))).toBe(HOSTILE);
  });

  it('contains no active character', () => {
    expect(inertJson(JSON.stringify(HOSTILE))).toMatch(/^[\x20-\x7e]+$/);
  });
});
