import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inertJson, inertText } from '../../../src/core/text/inert-text.ts';

const HOSTILE = '\u001b[31m\u0000\r\n\u007f\u009b\u200b\u200e\u202e\u2028\u2066\u2069\ufeff\u3164\u{e0041}\ud800';
/** Written apart from the implementation: code points that must never come out. */
const HOSTILE_CODE_POINTS = [...HOSTILE].map((character) => character.codePointAt(0) ?? 0).filter(isNotPlainAscii);

function isNotPlainAscii(codePoint: number): boolean {
  return codePoint < 0x20 || codePoint > 0x7e;
}

function shownAs(codePoint: number): string {
  const hex = codePoint.toString(16);
  return codePoint > 0xffff ? `\\u{${hex}}` : `\\u${'0'.repeat(4 - hex.length)}${hex}`;
}

describe('inert text', () => {
  it('shows characters that act on a terminal or a reader by their code', () => {
    expect(inertText('a\u001b[2Jb\u202ec\nd')).toBe('a\\u001b[2Jb\\u202ec\\u000ad');
    expect(inertText('\u{e0041}\ud800')).toBe('\\u{e0041}\\ud800');
  });

  it('lets none of them through', () => {
    for (const codePoint of HOSTILE_CODE_POINTS) {
      expect(inertText(`x${String.fromCodePoint(codePoint)}y`)).toBe(`x${shownAs(codePoint)}y`);
    }
  });

  it('leaves names in every script and emoji as they are', () => {
    for (const name of ['Acme Inc.', 'Zoë Müller', '東京電力', 'שלום', 'مرحبا', '🚀 rocket', 'a\\b "c"']) {
      expect(inertText(name)).toBe(name);
    }
  });

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(inertText(inertText(text))).toBe(inertText(text));
      }),
    );
  });
});

describe('inert JSON', () => {
  it('says exactly the same', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), (value) => {
        const json = JSON.stringify(value);
        expect(JSON.parse(inertJson(json))).toEqual(JSON.parse(json));
      }),
    );
    expect(JSON.parse(inertJson(JSON.stringify(HOSTILE)))).toBe(HOSTILE);
  });

  it('holds no active character itself', () => {
    expect(inertJson(JSON.stringify(HOSTILE))).toMatch(/^[\x20-\x7e]+$/);
  });
});
