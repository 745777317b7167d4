import { expect, test } from 'vitest';
import { routeTakes } from '../../../src/alerts/pipeline/route.ts';
import { routeSchema } from '../../../src/config/schema/channels.ts';
import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { DAY_MS, dayWorld } from './day-world.ts';

const PRICE = {
  name: 'tiers',
  from_period: '2026-01',
  currency: 'EUR',
  included_credits: 10_000,
  price_per_credit: '0.01',
};
const COST = { name: 'provider', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.004' };
const FEBRUARY = Date.UTC(2026, 1, 1);

/** Reads February day by day from a day after its beginning to `days` after it. */
async function playFebruary(
  costs: readonly (typeof COST)[],
  perDay: Record<string, number>,
  days: number,
  once: Record<string, number> = {},
) {
  const world = dayWorld({ ratio: 100 });
  setCards(world.connection, { cards: [PRICE], costs, source: 'import', nowMs: FEBRUARY });
  for (let day = 0; day < days; day += 1) {
    const atMs = FEBRUARY + day * DAY_MS;
    for (const [tenant, credits] of Object.entries(perDay)) world.post(tenant, atMs, credits);
    for (const [tenant, on] of Object.entries(once)) if (day === on) world.post(tenant, atMs, 400);
    await world.read(atMs + DAY_MS / 2);
  }
  const stakes = world.notifications().map(({ payload }) => payload.evidence.at_stake_money);
  return { told: world.told(), summaries: world.summaries('margin'), stakes };
}

test('a tenant below cost that will cover it by month end is not sent; one that will not is sent with its forecast', async () => {
  // 28,000 bring 180.00 and cost 112.00, though the first 10,000 bring nothing; 11,400 bring 14.00 and cost 45.60.
  const { told, summaries, stakes } = await playFebruary([COST], { large: 1_000, small: 400 }, 32);
  expect(told).toEqual(['margin happened firing small']);
  expect(summaries[0]).toBe(
    'small (ws-1): below cost in February, pays 14.00 and costs 45.60 EUR. At the forecast of 11,400 credits. 2,800 so far.',
  );
  // What it used more than the month before is no loss.
  expect(stakes).toEqual([null]);
});

test('a tenant without a forecast is sent once the month is over', async () => {
  const { told, summaries } = await playFebruary([COST], { large: 1_000 }, 32, { late: 27 });
  expect(told).toEqual(['margin happened firing late']);
  expect(summaries[0]).toBe('late (ws-1): below cost in February, pays 0.00 and costs 1.60 EUR. For 400 credits.');
});

test('another currency, or no cost card, is no loss', async () => {
  expect((await playFebruary([{ ...COST, currency: 'USD' }], { small: 400 }, 32)).told).toEqual([]);
  expect((await playFebruary([], { small: 400 }, 32)).told).toEqual([]);
});

test('a channel for some tenants is sent margin only if its rules name it', () => {
  const alert = { rule: 'margin', severity: 'warning', workspaceId: 'ws-1', tenantId: 'acme' } as const;
  const isTold = (route: object) => routeTakes({ channel: 'one', timezone: 'UTC', ...routeSchema.parse(route) }, alert);
  expect(isTold({})).toBe(true);
  expect(isTold({ tenants: ['acme'] })).toBe(false);
  expect(isTold({ tenants: ['acme'], rules: ['margin'] })).toBe(true);
  expect(isTold({ tenants: ['acme'], rules: ['jump'] })).toBe(false);
});
