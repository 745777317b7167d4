import { describe, expect, test } from 'vitest';
import { createCardChooser, tiedCards } from '../../../src/billing/rates/period-pricer.ts';
import { type RateCard, resolveRateCard } from '../../../src/billing/rates/rate-card.ts';
import { rateCardSchema, rateCardsSchema } from '../../../src/billing/rates/rate-card-schema.ts';

function card(name: string, scope: Partial<RateCard> = {}): RateCard {
  const base = resolveRateCard(
    rateCardSchema.parse({ name, from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' }),
  );
  return { ...base, ...scope };
}

function chosen(cards: readonly RateCard[], tenant: string, { workspace = 'ws-1', period = '2026-03' } = {}) {
  return createCardChooser(cards, workspace, period)(tenant)?.name ?? null;
}

describe('the card in force', () => {
  const cards = [
    card('all'),
    card('here', { workspace: 'ws-1' }),
    card('elsewhere', { workspace: 'ws-2' }),
    card('a*', { tenant: 'a*' }),
    card('ac*', { tenant: 'ac*' }),
    card('acme', { tenant: 'acme' }),
    card('acme in ws-2', { tenant: 'acme', workspace: 'ws-2' }),
  ];

  test('is the most specific: id, then the longest pattern, then the workspace, then all', () => {
    expect(chosen(cards, 'acme')).toBe('acme');
    expect(chosen(cards, 'acme', { workspace: 'ws-2' })).toBe('acme in ws-2');
    expect(chosen(cards, 'acorn')).toBe('ac*');
    expect(chosen(cards, 'apple')).toBe('a*');
    expect(chosen(cards, 'globex')).toBe('here');
    expect(chosen(cards, 'globex', { workspace: 'ws-3' })).toBe('all');
  });

  test('is the pattern with the highest priority, but an id beats every pattern', () => {
    const ranked = [
      card('north', { tenant: 'north-*' }),
      card('resellers', { tenant: '*-reseller', priority: 1 }),
      card('campaign', { priority: 2, toPeriod: '2026-04' }),
      card('own', { tenant: 'north-1-reseller' }),
    ];
    expect(chosen(ranked, 'north-1-reseller')).toBe('own');
    expect(chosen(ranked, 'north-2-reseller')).toBe('campaign');
    expect(chosen(ranked, 'north-2-reseller', { period: '2026-05' })).toBe('resellers');
    expect(chosen(ranked, 'north-2', { period: '2026-05' })).toBe('north');
  });

  test('is none if two match equally, and the error names both; an id beats a pattern of the same length', () => {
    const tied = [card('a', { tenant: 'ab*' }), card('b', { tenant: '*cd' }), card('id', { tenant: 'acd' })];
    for (const some of [tied, [...tied].reverse()]) {
      expect(chosen(some, 'abcd')).toBe(null);
      const found = tiedCards(some, { workspaceId: 'ws-1', period: '2026-03', tenantId: 'abcd' });
      expect(found.map(({ name }) => name).sort()).toEqual(['a', 'b']);
      expect(chosen(some, 'abc')).toBe('a');
      expect(chosen(some, 'acd')).toBe('id');
      expect(tiedCards(some, { workspaceId: 'ws-1', period: '2026-03', tenantId: 'acd' })).toEqual([]);
    }
  });

  test('is the more specific of two patterns, not the longer text', () => {
    const patterns = [card('wide', { tenant: 'a*b*' }), card('narrow', { tenant: 'ab*' })];
    expect(chosen(patterns, 'abc')).toBe('narrow');
    expect(chosen(patterns, 'a-b')).toBe('wide');
  });

  test('does not depend on the order in which the cards are written', () => {
    const reversed = [...cards].reverse();
    for (const tenant of ['acme', 'acorn', 'apple', 'globex']) {
      expect(chosen(reversed, tenant)).toBe(chosen(cards, tenant));
    }
  });

  test('is the latest one that has started, and none before its first or after its last period', () => {
    const dated = [
      card('first', { toPeriod: '2026-06' }),
      card('second', { fromPeriod: '2026-03', toPeriod: '2026-04' }),
    ];
    const periods = ['2025-12', '2026-01', '2026-02', '2026-03', '2026-04', '2026-05', '2026-07'];
    expect(periods.map((period) => chosen(dated, 'acme', { period }))).toEqual([
      null,
      'first',
      'first',
      'second',
      'second',
      'first',
      null,
    ]);
  });

  test('an older specific card beats a newer general one', () => {
    const both = [card('special', { tenant: 'acme', fromPeriod: '2020-01' }), card('new', { fromPeriod: '2026-03' })];
    expect(chosen(both, 'acme')).toBe('special');
  });
});

test('cards with the same scope and first period are refused, others are accepted', () => {
  const base = { name: 'a', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' };
  const others = [
    { ...base, name: 'of a workspace', workspace: 'ws-1' },
    { ...base, name: 'of some', tenant: 'a*' },
    { ...base, name: 'later', from_period: '2026-02' },
  ];
  expect(rateCardsSchema.safeParse([base, ...others]).success).toBe(true);
  const { error } = rateCardsSchema.safeParse([base, ...others, { ...base, name: 'b' }]);
  expect(error?.issues.map((issue) => issue.path)).toEqual([[4, 'from_period']]);
});

test('cards of one name may follow each other, but not cover the same month', () => {
  const base = { name: 'a', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' };
  const first = { ...base, to_period: '2026-03' };
  const later = { ...base, from_period: '2026-04', price_per_credit: '0.02' };
  expect(rateCardsSchema.safeParse([first, later]).success).toBe(true);
  expect(rateCardsSchema.safeParse([later, first]).success).toBe(true);
  for (const cards of [
    [first, { ...later, from_period: '2026-03' }],
    [base, later],
    [later, base],
  ]) {
    const { error } = rateCardsSchema.safeParse(cards);
    expect(error?.issues.map((issue) => issue.path)).toEqual([[1, 'name']]);
  }
});

test('two cards of one name in the same month are refused for any scope, because statements identify cards by name', () => {
  const base = { name: 'a', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' };
  const { error } = rateCardsSchema.safeParse([base, { ...base, name: 'b', tenant: 'x' }, { ...base, tenant: 'y' }]);
  expect(error?.issues.map((issue) => issue.path)).toEqual([[2, 'name']]);
});

describe('an invalid card is refused with the place of the mistake', () => {
  const good = { name: 'x', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' };
  const { price_per_credit: _, ...unpriced } = good;
  const wrong: [string, Record<string, unknown>, string][] = [
    ['a price that is a number', { ...good, price_per_credit: 0.01 }, 'price_per_credit'],
    ['a negative price', { ...good, price_per_credit: '-1' }, 'price_per_credit'],
    ['a price with an exponent', { ...good, price_per_credit: '1e-3' }, 'price_per_credit'],
    ['no price', unpriced, 'price_per_credit'],
    ['two ways to price', { ...good, package: { credits: 10, price: '1' } }, 'package'],
    ['an unknown currency', { ...good, currency: 'EURO' }, 'currency'],
    ['a month that is none', { ...good, from_period: '2026-13' }, 'from_period'],
    ['an end before its beginning', { ...good, to_period: '2025-12' }, 'to_period'],
    ['a minimum finer than the minor unit', { ...good, minimum: '0.001' }, 'minimum'],
    ['a discount above 100 percent', { ...good, discount_percent: '100.1' }, 'discount_percent'],
    ['tiers out of order', { ...unpriced, volume: tiers(10, 5, undefined) }, 'volume.1.up_to'],
    ['a last tier with a limit', { ...unpriced, graduated: tiers(10, 20) }, 'graduated.1.up_to'],
    [
      'a tier without a limit before the last',
      { ...unpriced, graduated: tiers(undefined, undefined) },
      'graduated.0.up_to',
    ],
  ];
  test.each(wrong)('%s', (_name, written, path) => {
    const { error } = rateCardSchema.safeParse(written);
    expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
  });
});

function tiers(...limits: (number | undefined)[]) {
  return limits.map((up_to) => (up_to === undefined ? { price_per_credit: '1' } : { up_to, price_per_credit: '1' }));
}
