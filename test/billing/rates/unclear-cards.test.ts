import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conflictingCards } from '../../../src/billing/rates/rate-card.ts';
import type { RateCardText } from '../../../src/billing/rates/rate-card-schema.ts';
import { coversPattern, matchesPattern, patternsOverlap } from '../../../src/core/text/patterns.ts';

const CARD = { from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' };
const pair = (one: Partial<RateCardText>, other: Partial<RateCardText>) =>
  conflictingCards([
    { ...CARD, name: 'one', ...one },
    { ...CARD, name: 'other', ...other },
  ]).length;

describe('two cards conflict', () => {
  test.each([
    ['overlap, and neither includes the other', { tenant: 'a*' }, { tenant: '*a' }],
    ['the longer one is not the more specific', { tenant: 'north-*' }, { tenant: '*-eu' }],
    ['one of them is of one workspace', { tenant: 'a*', workspace: 'ws-1' }, { tenant: '*a' }],
    ['one begins later', { tenant: 'a*' }, { tenant: '*a', from_period: '2026-05' }],
  ])('when %s', (_, one, other) => {
    expect(pair(one, other)).toBe(1);
    expect(pair(other, one)).toBe(1);
  });

  test.each([
    ['one is the more specific', { tenant: 'a*' }, { tenant: 'ab*' }],
    ['no tenant fits both', { tenant: 'a*' }, { tenant: 'b*' }],
    ['one has a higher priority', { tenant: 'a*', priority: 1 }, { tenant: '*a' }],
    ['one is an id', { tenant: 'aa' }, { tenant: 'a*' }],
    ['one is for all', {}, { tenant: 'a*' }],
    ['they are of different workspaces', { tenant: 'a*', workspace: 'ws-1' }, { tenant: '*a', workspace: 'ws-2' }],
    [
      'one ends before the other begins',
      { tenant: 'a*', to_period: '2026-04' },
      { tenant: '*a', from_period: '2026-05' },
    ],
    ['they are one pattern, of which the later counts', { tenant: 'a*' }, { tenant: 'a*', from_period: '2026-05' }],
  ])('not when %s', (_, one, other) => {
    expect(pair(one, other)).toBe(0);
    expect(pair(other, one)).toBe(0);
  });
});

test('patterns overlap and cover each other exactly as their matching texts do', () => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 5 });
  const letters = ['', 'a', 'b', 'c'];
  const texts = letters.flatMap((one) =>
    letters.flatMap((two) => letters.flatMap((three) => letters.flatMap((four) => [one + two + three + four]))),
  );
  fc.assert(
    fc.property(pattern, pattern, (one, other) => {
      const both = texts.filter((text) => matchesPattern(one, text) && matchesPattern(other, text));
      if (both.length > 0) expect(patternsOverlap(one, other)).toBe(true);
      expect(patternsOverlap(one, other)).toBe(patternsOverlap(other, one));
      const only = texts.filter((text) => matchesPattern(other, text) && !matchesPattern(one, text));
      if (coversPattern(one, other)) expect(only).toEqual([]);
      // A text that matches both also matches a pattern that joins them.
      if (!patternsOverlap(one, other)) expect(both).toEqual([]);
    }),
    { numRuns: 2000 },
  );
});
