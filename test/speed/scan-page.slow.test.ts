import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createScanner, isRight, items, pageOf, parse, scan, style } from './scanned-pages.ts';

describe('PageScanner', () => {
  test('returns null or the same page as the parser for any changed bytes', () => {
    const scanner = createScanner();
    const met = { same: 0, left: 0, wrong: 0 };
    const edit = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      cut: fc.nat(3),
      put: fc.constantFrom(
        '',
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '0',
        '1',
        '9',
        '-',
        '.',
        'e',
        ' ',
        '\u0000',
        'é',
        '\ufeff',
        '\v',
        '"usage":[',
        '"period":"2026-01",',
      ),
      rests: fc.boolean(),
    });
    fc.assert(
      fc.property(items, style, fc.array(edit, { minLength: 1, maxLength: 2 }), (records, how, edits) => {
        let text = new TextDecoder().decode(pageOf(records, how));
        for (const { at, cut, put, rests } of edits) {
          const from = Math.floor(at * text.length);
          text = `${text.slice(0, from)}${put}${rests ? text.slice(from) : text.slice(from + cut)}`;
        }
        const body = new TextEncoder().encode(text);
        const seen = scan(scanner, body);
        if (seen !== null) expect(seen).toEqual(parse(body));
        met[seen !== null ? 'same' : isRight(body) ? 'left' : 'wrong'] += 1;
      }),
      { numRuns: 20_000 },
    );
    expect(Math.min(met.same, met.left, met.wrong), JSON.stringify(met)).toBeGreaterThan(200);
  });
});
