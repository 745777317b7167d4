import { expect, test } from 'vitest';
import { isoTime } from '../../src/core/clock.ts';
import { addPeriods, periodAt, periodEndMs, periodStartMs } from '../../src/core/period.ts';
import { setCards } from '../../src/ledger/journal/charges/charge-run.ts';
import { forecastMonth } from '../../src/ledger/journal/charges/credit-pricer.ts';
import { readStatement } from '../../src/ledger/journal/charges/read-statement.ts';
import { readPageData } from '../../src/reports/page/page-data.ts';
import { closeMonth, openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { awayFromMonthEnd, NOON } from '../support/time/test-clock.ts';

await awayFromMonthEnd();
const NOW = Date.now();
const MONTH = periodAt(NOW);
const CARDS = [
  {
    ...{ name: 'tiers', from_period: '2020-01', currency: 'EUR', minimum: '5' },
    graduated: [{ up_to: 1000, price_per_credit: '0.10' }, { price_per_credit: '0.01' }],
  },
  { name: 'yen', from_period: '2020-01', tenant: 'yen', currency: 'JPY', price_per_credit: '1' },
];

test("the forecast of a month prices each tenant's forecast by the tiers of its card", async () => {
  const { connection } = openLedger();
  setCards(connection, { cards: CARDS, source: 'import', nowMs: NOON });
  const usage = [
    usageRecord('large', 800, '2026-03'),
    usageRecord('small', 10, '2026-03'),
    usageRecord('yen', 7, '2026-03'),
  ];
  await publish(connection, [...usage, usageRecord('gone', 900, '2026-03')]);
  await publish(connection, usage, { withdraws: true });
  await publish(connection, usage, { withdraws: true });
  const periodKey = connection.prepare('SELECT period_key FROM periods').pluck().safeIntegers().get() as bigint;
  const forecast = (asOf: string) =>
    forecastMonth(connection, { workspaceId: 'ws-1', period: '2026-03', periodKey, asOf });

  // Half of 31 days. 1,600 credits: 1,000 at 0.10 and 600 at 0.01, not twice the 80.00 to date; 20 credits: the minimum.
  expect(forecast('2026-03-16T12:00:00.000Z')).toEqual({
    credits: 1634n,
    money: [
      { currency: 'EUR', amountMinor: 10_600n + 500n },
      { currency: 'JPY', amountMinor: 14n },
    ],
  });
  expect(forecast('2026-03-01T23:59:59.999Z')).toBeNull();
  expect(forecast('2026-04-01T00:00:00.000Z')).toBeNull();
});

test("the page has the view's forecast, and compares with the same point of last month", async () => {
  const { connection } = openLedger();
  const [before, earlier] = [addPeriods(MONTH, -1), addPeriods(MONTH, -3)];
  const samePoint = periodStartMs(before) + (NOW - periodStartMs(MONTH));
  const old = [usageRecord('acme', 50, before), usageRecord('bolt', 400, before), usageRecord('coil', 9, earlier)];
  await publish(connection, old, { nowMs: Math.min(samePoint, periodEndMs(before)) - 3_600_000 });
  const whole = [usageRecord('acme', 900, before), usageRecord('bolt', 410, before), usageRecord('coil', 9, earlier)];
  await publish(connection, [...whole, usageRecord('acme', 60, MONTH), usageRecord('bolt', 100, MONTH)], {
    nowMs: NOW,
  });
  const data = readPageData(connection, { workspaceId: 'ws-1', nowMs: NOW, budgets: [] });

  expect(data?.months).toEqual([earlier, addPeriods(MONTH, -2), before, MONTH]);
  expect(data?.totals).toEqual([9n, 0n, 1310n, 160n]);
  expect(data?.tenantCounts).toEqual([1, 0, 2, 2]);
  expect(data?.movedSince).toBe('same point');
  // Compared with all of last month, acme would have changed by -840.
  expect(data?.movers.map(({ tenantId, previous, change }) => [tenantId, previous, change])).toEqual([
    ['bolt', 400n, -300n],
    ['acme', 50n, 10n],
  ]);
  const projected = connection.prepare('SELECT sum(projection) FROM finance_month_to_date').pluck().get();
  expect(Number(data?.forecast?.credits ?? 0n)).toBe(projected ?? 0);
});

test('page and statement have the same forecast, based on the last reading, with corrections', async () => {
  const { connection } = openLedger();
  setCards(connection, { cards: CARDS, source: 'import', nowMs: NOON });
  await publish(connection, [usageRecord('large', 100, '2026-02'), usageRecord('left', 100, '2026-02')]);
  closeMonth(connection, '2026-02');
  // `left` has a correction of the closed month and no record of this one.
  const old = [usageRecord('large', 100, '2026-02'), usageRecord('left', 130, '2026-02')];
  const open = [usageRecord('large', 800), usageRecord('small', 1), usageRecord('yen', 7)];
  await publish(connection, [...old, ...open], { nowMs: NOON });
  const periodKey = connection
    .prepare("SELECT period_key FROM periods WHERE period = '2026-03'")
    .pluck()
    .safeIntegers()
    .get() as bigint;
  const place = { workspaceId: 'ws-1', period: '2026-03', periodKey, asOf: isoTime(NOON) };
  const forecast = forecastMonth(connection, place);
  // An hour later, without a new reading.
  const request = { workspaceId: 'ws-1', period: '2026-03', nowMs: NOON + 3_600_000 };
  const statement = readStatement(connection, request);
  const plain = (totals: readonly { currency: string; amount_minor: bigint }[] = []) =>
    totals.map(({ currency, amount_minor: amountMinor }) => ({ currency, amountMinor }));

  expect(forecast?.money.map(({ currency }) => currency)).toEqual(['EUR', 'JPY']);
  expect(statement?.projected_credits).toBe(forecast?.credits);
  expect(plain(statement?.projected_totals)).toEqual(forecast?.money);
  const ofTenants = plain(statement?.tenants.flatMap(({ projected_totals: totals = [] }) => totals));
  for (const { currency, amountMinor } of forecast?.money ?? []) {
    const own = ofTenants.filter((total) => total.currency === currency);
    expect(own.reduce((sum, total) => sum + total.amountMinor, 0n)).toBe(amountMinor);
  }
  expect(readStatement(connection, { ...request, tenantId: 'left' })).toMatchObject({
    projected_credits: 0n,
    projected_totals: [{ currency: 'EUR', amount_minor: 300n, amount: '3.00' }],
  });
});
