import { expect, test } from 'vitest';
import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { DAY_MS, dayWorld } from './day-world.ts';

const BEGIN = Date.UTC(2026, 0, 1);
const CARD = { name: 'standard', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01', tenant: 'priced' };

/** Two tenants of 300 credits a day use 700 from 1 March on, so that March comes to 13,300 credits or 133 EUR more than February. */
async function toldUpTo15March(minAmount: number): Promise<string[]> {
  const world = dayWorld({ minAmount });
  setCards(world.connection, { cards: [CARD], costs: null, source: 'import', nowMs: BEGIN });
  for (let atMs = BEGIN; atMs < Date.UTC(2026, 2, 15); atMs += DAY_MS) {
    for (const tenant of ['priced', 'unpriced']) world.post(tenant, atMs, atMs < Date.UTC(2026, 2, 1) ? 300 : 700);
    await world.read(atMs + DAY_MS / 2);
  }
  return world.told().sort();
}

test('a forecast increase below min_amount is not sent; without a rate card it is', async () => {
  expect(await toldUpTo15March(100)).toEqual(['jump likely firing priced', 'jump likely firing unpriced']);
  expect(await toldUpTo15March(250)).toEqual(['jump likely firing unpriced']);
});
