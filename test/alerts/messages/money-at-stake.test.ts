import { expect, test } from 'vitest';
import { moneyAtStake } from '../../../src/alerts/messages/evidence.ts';

/** Ten cents a credit, and five from 1,000 credits on for all of them. */
const discounted = (credits: bigint) => ({
  amountMinor: credits * (credits < 1_000n ? 10n : 5n),
  currency: 'EUR',
});

test.each([
  ['growth', { likely: 900n, compared: 400n }, '50.00'],
  ['a fall', { likely: 400n, compared: 900n }, '50.00'],
  ['growth to a discount that leaves it cheaper', { likely: 1_200n, compared: 900n }, null],
  ['a fall that loses the discount', { likely: 900n, compared: 1_200n }, null],
  ['growth at the same price', { likely: 1_200n, compared: 600n }, '0.00'],
])('the money at stake of %s fits the direction of the credits', (_what, sides, amount) => {
  expect(moneyAtStake(sides, discounted)?.amount ?? null).toBe(amount);
});
