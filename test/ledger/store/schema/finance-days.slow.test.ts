import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openLedger } from '../../../support/open-ledger.ts';
import {
  credits,
  DAY,
  HOUR,
  MONTH,
  MONTH_START,
  NEXT_START,
  PREVIOUS,
  PREVIOUS_START,
  type Reading,
  record,
  TENANTS,
  THIS_SECOND,
} from './day-readings.ts';

/** Readings between the start of last month and now, in order, each with what it changes. */
const changes = fc
  .uniqueArray(fc.record({ at: fc.nat(Math.floor((THIS_SECOND - PREVIOUS_START) / 1000)), credits }), {
    minLength: 1,
    maxLength: 12,
    selector: ({ at }) => at,
  })
  .map((list) => list.sort((a, b) => a.at - b.at));

/** Rounded in whatever way. */
function near(value: number, most: number): unknown {
  return expect.toSatisfy((found) => Math.abs((found as number) - value) <= most);
}

function expectedMonth(readings: readonly Reading[]) {
  const last = readings.at(-1) as Reading;
  const elapsed = last.atMs - MONTH_START;
  const point = Math.min(PREVIOUS_START + elapsed, MONTH_START);
  const before = readings.filter(({ atMs }) => atMs <= point).at(-1);
  const source =
    point === MONTH_START ? last : before !== undefined && before.atMs >= point - 36 * HOUR ? before : undefined;
  const isRead = TENANTS.some((tenant) => last.credits.has(`${MONTH} ${tenant}`));
  // Who has no record of the month yet stands there for what it had at that point.
  const stands = (tenant: string): boolean =>
    last.credits.has(`${MONTH} ${tenant}`) || (isRead && (source?.credits.get(`${PREVIOUS} ${tenant}`) ?? 0) > 0);
  return TENANTS.filter(stands).map((tenant) => {
    const used = last.credits.get(`${MONTH} ${tenant}`) ?? 0;
    const previous = source === undefined ? null : (source.credits.get(`${PREVIOUS} ${tenant}`) ?? 0);
    return {
      tenant_id: tenant,
      credits_used: used,
      previous_credits_same_point: previous,
      credits_change: previous === null ? null : used - previous,
      change_percent: previous === null || previous === 0 ? null : near((100 * (used - previous)) / previous, 0.0051),
      projection: elapsed < DAY ? null : near((used * (NEXT_START - MONTH_START)) / elapsed, 0.51),
      as_of: new Date(last.atMs).toISOString(),
      compared_at: new Date(point).toISOString(),
    };
  });
}

function expectedDays(readings: readonly Reading[]) {
  const rows = new Map<string, Record<string, unknown>>();
  const now = new Map<string, number>();
  for (const { atMs, credits: figures } of readings) {
    const day = new Date(atMs).toISOString().slice(0, 10);
    for (const [key, value] of figures) {
      const before = now.get(key);
      if (before === value) continue;
      now.set(key, value);
      const row = rows.get(`${key} ${day}`) ?? { credits_increase: 0, request_increase: 0 };
      rows.set(`${key} ${day}`, {
        period: key.slice(0, 7),
        tenant_id: key.slice(8),
        day,
        credits_used: value,
        credits_increase: (row.credits_increase as number) + value - (before ?? 0),
        request_increase: (row.request_increase as number) + (before === undefined ? 10 : 0),
        request_count: 10,
      });
    }
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

test("the month to date and each day's usage match a separate model of the readings", async () => {
  await fc.assert(
    fc.asyncProperty(changes, async (list) => {
      const { connection } = openLedger();
      const readings = await record(connection, list);
      const month = connection
        .prepare(
          `SELECT tenant_id, credits_used, previous_credits_same_point, credits_change,
             change_percent, projection, as_of, compared_at
           FROM finance_month_to_date ORDER BY tenant_id`,
        )
        .all();
      expect(month).toEqual(expectedMonth(readings));
      const days = connection
        .prepare(
          `SELECT period, tenant_id, day, credits_used, credits_increase, request_increase, request_count
           FROM finance_daily ORDER BY period, tenant_id, day`,
        )
        .all();
      expect(days).toEqual(expectedDays(readings));
      connection.close();
    }),
    { numRuns: 25 },
  );
}, 120_000);
