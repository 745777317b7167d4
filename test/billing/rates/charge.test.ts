import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Charge, createPricer, NO_CHARGE } from '../../../src/billing/rates/charge.ts';
import type { Pricing, RateCard } from '../../../src/billing/rates/rate-card.ts';
import { dueLines } from '../../../src/ledger/audit/money/amount-due.ts';
import { exactLines } from './exact-charge.ts';

const BASE: RateCard = {
  name: 'standard',
  fromPeriod: '2026-01',
  toPeriod: null,
  workspace: null,
  tenant: null,
  priority: 0,
  creditNegative: false,
  minimumNeedsUsage: false,
  currency: 'EUR',
  includedCredits: 0,
  pricing: flat('0.01'),
  pricePerRequest: null,
  minimum: null,
  discountPercent: null,
  rounding: 'half_even',
};

function flat(pricePerCredit: string): Pricing {
  return { model: 'graduated', tiers: [{ upTo: null, pricePerCredit }] };
}

function shown({ lines }: Charge): string[] {
  return lines.map(({ kind, tier, credits, unitPrice, requests, amountMinor }) =>
    [kind, tier, credits, unitPrice, requests, amountMinor].filter((value) => value !== null).join(' '),
  );
}

describe('a charge, by example', () => {
  test('a price for each credit', () => {
    expect(shown(createPricer({ ...BASE, pricing: flat('0.0125') })(1000n))).toEqual(['usage 1 1000 0.0125 1250']);
  });

  test('a price per request is added to the credits before the discount, and requests count as usage', () => {
    const card = { ...BASE, pricePerRequest: '0.0005', discountPercent: '10', minimum: '5', minimumNeedsUsage: true };
    const price = createPricer(card);
    expect(shown(price(1000n, 3001n))).toEqual(['usage 1 1000 0.01 1000', 'requests 0.0005 3001 150', 'discount -115']);
    expect(shown(price(0n, 10n))).toEqual(['usage 1 0 0.01 0', 'requests 0.0005 10 0', 'minimum 500']);
    expect(price(0n, 0n).amountMinor).toBe(0n);
  });

  test('graduated: each tier has its own price, counted after the included credits', () => {
    const tiers = [
      { upTo: 1000, pricePerCredit: '0.02' },
      { upTo: 5000, pricePerCredit: '0.01' },
      { upTo: null, pricePerCredit: '0.005' },
    ];
    const charge = createPricer({ ...BASE, includedCredits: 500, pricing: { model: 'graduated', tiers } })(7500n);
    expect(shown(charge)).toEqual([
      'usage 0 500 0 0',
      'usage 1 1000 0.02 2000',
      'usage 2 4000 0.01 4000',
      'usage 3 2000 0.005 1000',
    ]);
    expect(charge.amountMinor).toBe(7000n);
  });

  test('volume: all credits have the price of the tier that the total reaches', () => {
    const tiers = [
      { upTo: 1000, pricePerCredit: '0.02' },
      { upTo: null, pricePerCredit: '0.01' },
    ];
    const card: RateCard = { ...BASE, pricing: { model: 'volume', tiers } };
    expect(shown(createPricer(card)(1000n))).toEqual(['usage 1 1000 0.02 2000']);
    expect(shown(createPricer(card)(1001n))).toEqual(['usage 2 1001 0.01 1001']);
  });

  test('package: each started package is charged in full', () => {
    const card: RateCard = { ...BASE, pricing: { model: 'package', credits: 1000, price: '9.50' } };
    expect([0n, 1n, 1000n, 1001n].map((credits) => createPricer(card)(credits).amountMinor)).toEqual([
      0n,
      950n,
      950n,
      1900n,
    ]);
  });

  test('the discount reduces the usage, and the minimum applies after it', () => {
    const card: RateCard = { ...BASE, discountPercent: '10', minimum: '50.00' };
    expect(shown(createPricer(card)(1000n))).toEqual(['usage 1 1000 0.01 1000', 'discount -100', 'minimum 4100']);
    expect(shown(createPricer(card)(10_000n))).toEqual(['usage 1 10000 0.01 10000', 'discount -1000']);
  });

  test('halves round to the even neighbour, or away from zero if the card says half_up', () => {
    const amounts = (rounding: RateCard['rounding']) =>
      [1n, 3n, 5n].map((credits) => createPricer({ ...BASE, rounding, pricing: flat('0.005') })(credits).amountMinor);
    expect(amounts('half_even')).toEqual([0n, 2n, 2n]);
    expect(amounts('half_up')).toEqual([1n, 2n, 3n]);
  });

  test('the largest count of credits at a price of 18 decimals keeps every digit', () => {
    const pricing = flat('999999999999999999.999999999999999999');
    const { amountMinor } = createPricer({ ...BASE, pricing })(9_223_372_036_854_775_807n);
    expect(amountMinor).toBe(922_337_203_685_477_580_699_999_999_999_999_999_078n);
  });

  test('a tenant without a record is charged nothing', () => {
    expect(NO_CHARGE.amountMinor).toBe(0n);
    expect(NO_CHARGE.lines).toHaveLength(1);
  });
});

const decimal = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 6n }), fc.option(fc.stringMatching(/^\d{1,18}$/), { nil: null }))
  .map(([whole, part]) => (part === null ? `${whole}` : `${whole}.${part}`));

const tiers = fc
  .tuple(fc.uniqueArray(fc.integer({ min: 1, max: 10 ** 7 }), { maxLength: 5 }), fc.array(decimal, { minLength: 6 }))
  .map(([limits, prices]) => {
    const upTos = [...limits.sort((a, b) => a - b), null];
    return upTos.map((upTo, index) => ({ upTo, pricePerCredit: prices[index] ?? '0' }));
  });

const pricing: fc.Arbitrary<Pricing> = fc.oneof(
  fc.record({ model: fc.constantFrom('graduated', 'volume'), tiers }),
  fc.record({ model: fc.constant('package' as const), credits: fc.integer({ min: 1, max: 10 ** 6 }), price: decimal }),
);

const card: fc.Arbitrary<RateCard> = fc.record({
  name: fc.constant('card'),
  fromPeriod: fc.constant('2026-01'),
  toPeriod: fc.constant(null),
  workspace: fc.constant(null),
  tenant: fc.constant(null),
  priority: fc.constant(0),
  creditNegative: fc.boolean(),
  minimumNeedsUsage: fc.boolean(),
  currency: fc.constantFrom('EUR', 'JPY', 'KWD', 'CLF'),
  includedCredits: fc.oneof(fc.constant(0), fc.nat(10 ** 6), fc.constant(Number.MAX_SAFE_INTEGER)),
  pricing,
  minimum: fc.option(fc.bigInt({ min: 0n, max: 10n ** 9n }).map(String)),
  pricePerRequest: fc.option(fc.constantFrom('0.0002', '0.000000000000000001', '3', '0')),
  discountPercent: fc.option(fc.constantFrom('0', '2.5', '10', '33.333333333333333333', '50', '100')),
  rounding: fc.constantFrom('half_even', 'half_up'),
});

const MAX = 2n ** 63n - 1n;
const credits = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n ** 4n }),
  fc.bigInt({ min: 0n, max: 2n * 10n ** 7n }),
  fc.bigInt({ min: 0n, max: MAX }),
  fc.bigInt({ min: -(10n ** 6n), max: -1n }),
  fc.constantFrom(0n, 1n, MAX),
);

const requests = fc.oneof(fc.constant(0n), fc.bigInt(0n, 10n ** 9n), fc.constant(MAX));

describe('a charge, for any card and any credits up to 2^63-1', () => {
  test('equals an independent exact calculation, line by line', () => {
    fc.assert(
      fc.property(card, credits, requests, (anyCard, anyCredits, anyRequests) => {
        const { lines } = createPricer(anyCard)(anyCredits, anyRequests);
        expect(lines.map(({ kind, tier, amountMinor }) => ({ kind, tier, amount: amountMinor }))).toEqual(
          exactLines(anyCard, anyCredits, anyRequests),
        );
      }),
      { numRuns: 3000 },
    );
  });

  test('equals the charge that verify computes independently, in every column', () => {
    fc.assert(
      fc.property(card, credits, requests, (anyCard, anyCredits, anyRequests) => {
        const { lines } = createPricer(anyCard)(anyCredits, anyRequests);
        const due = dueLines(anyCard, anyCredits, anyRequests);
        if (due === null) return;
        expect(
          lines.map((line) => [
            ...[line.kind, line.tier, line.credits, line.unitCredits, line.unitPrice, line.amountMinor],
            line.requests,
          ]),
        ).toEqual(due);
      }),
      { numRuns: 3000 },
    );
  });

  test('is the sum of its lines, which cover every credit once', () => {
    fc.assert(
      fc.property(card, credits, requests, (anyCard, anyCredits, anyRequests) => {
        const { lines, amountMinor } = createPricer(anyCard)(anyCredits, anyRequests);
        expect(lines.reduce((sum, line) => sum + line.amountMinor, 0n)).toBe(amountMinor);
        expect(lines.reduce((sum, line) => sum + (line.credits ?? 0n), 0n)).toBe(anyCredits);
      }),
      { numRuns: 1000 },
    );
  });
});
