import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { expectSameInOlderSqlite } from '../../../support/machine-sqlite.ts';
import { closeMonth, openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { awayFromMonthEnd } from '../../../support/time/test-clock.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
await awayFromMonthEnd();
/** The views ask SQLite for the time: the open month is this one. */
const THIS_SECOND = Math.floor(Date.now() / 1000) * 1000;
const MONTH = new Date(THIS_SECOND).toISOString().slice(0, 7);
const MONTH_START = Date.parse(`${MONTH}-01T00:00:00Z`);
const PREVIOUS = new Date(MONTH_START - DAY).toISOString().slice(0, 7);
const PREVIOUS_START = Date.parse(`${PREVIOUS}-01T00:00:00Z`);
const NEXT_START = Date.UTC(Number(MONTH.slice(0, 4)), Number(MONTH.slice(5)), 1);
const TENANTS = ['acme', 'bolt', 'coil'];

interface Reading {
  atMs: number;
  /** By `period tenant`. */
  credits: ReadonlyMap<string, number>;
}

const credits = fc.uniqueArray(
  fc.record({
    key: fc.constantFrom(...[PREVIOUS, MONTH].flatMap((period) => TENANTS.map((tenant) => `${period} ${tenant}`))),
    credits: fc.nat(5000),
  }),
  { minLength: 1, maxLength: 5, selector: ({ key }) => key },
);

/** Readings between the start of last month and now, in order, each with what it changes. */
const changes = fc
  .uniqueArray(fc.record({ at: fc.nat(Math.floor((THIS_SECOND - PREVIOUS_START) / 1000)), credits }), {
    minLength: 1,
    maxLength: 12,
    selector: ({ at }) => at,
  })
  .map((list) => list.sort((a, b) => a.at - b.at));

async function record(
  connection: LedgerDb,
  list: readonly { at: number; credits: { key: string; credits: number }[] }[],
) {
  const known = new Map([[`${PREVIOUS} acme`, 1]]);
  const readings: Reading[] = [];
  for (const { at, credits: changed } of list) {
    for (const { key, credits: value } of changed) known.set(key, value);
    const atMs = PREVIOUS_START + at * 1000;
    const records = [...known].map(([key, value]) => usageRecord(key.slice(8), value, key.slice(0, 7)));
    await publish(connection, records, { nowMs: atMs });
    readings.push({ atMs, credits: new Map(known) });
  }
  return readings;
}

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

test('the month to date and what each day brought are what a separate account of the readings says', async () => {
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

test('a month beyond the length of the last one is compared with the whole of it, as it was closed', async () => {
  const { connection } = openLedger();
  const read = (previous: number, nowMs: number) =>
    publish(connection, [usageRecord('acme', previous, PREVIOUS), usageRecord('acme', 900, MONTH)], { nowMs });
  await read(500, MONTH_START + HOUR);
  closeMonth(connection, PREVIOUS, MONTH_START + 2 * HOUR);
  await read(700, NEXT_START - HOUR);
  const lasts = NEXT_START - MONTH_START > MONTH_START - PREVIOUS_START;
  const found = connection.prepare('SELECT previous_credits_same_point, compared_at FROM finance_month_to_date').get();
  expect(found).toEqual(
    lasts
      ? { previous_credits_same_point: 500, compared_at: new Date(MONTH_START).toISOString() }
      : expect.objectContaining({ compared_at: expect.stringMatching(`^${PREVIOUS}`) }),
  );
});

test('the same point of the month before is what the last run of the chain had read by then, also where a clock was ahead', async () => {
  const { connection } = openLedger();
  const pointMs = PREVIOUS_START + THIS_SECOND - MONTH_START;
  const read = (previous: number, nowMs: number) =>
    publish(connection, [usageRecord('acme', previous, PREVIOUS), usageRecord('acme', 1, MONTH)], { nowMs });
  await read(100, pointMs - 2 * HOUR);
  await read(200, pointMs - HOUR / 60);
  await read(300, pointMs - HOUR);
  await read(400, THIS_SECOND);
  const found = connection.prepare('SELECT previous_credits_same_point FROM finance_month_to_date').pluck().get();
  expect(found).toBe(pointMs < MONTH_START ? 300 : 400);
});

test('who had credits at the same point and has no record yet stays in the month to date, with 0', async () => {
  const { connection } = openLedger();
  const last = [
    usageRecord('acme', 500, PREVIOUS),
    usageRecord('gone', 300, PREVIOUS),
    usageRecord('idle', 0, PREVIOUS),
  ];
  await publish(connection, last, { nowMs: PREVIOUS_START + HOUR });
  await publish(connection, last, { nowMs: PREVIOUS_START + THIS_SECOND - MONTH_START });
  await publish(connection, [...last, usageRecord('acme', 900, MONTH), usageRecord('new', 5, MONTH)], {
    nowMs: THIS_SECOND,
  });
  const found = connection
    .prepare(
      `SELECT tenant_id, credits_used, previous_credits_same_point AS before, credits_change, change_percent
       FROM finance_month_to_date ORDER BY tenant_id`,
    )
    .raw()
    .all();
  expect(found).toEqual([
    ['acme', 900, 500, 400, 80],
    ['gone', 0, 300, -300, -100],
    ['new', 5, 0, 5, null],
  ]);
});

test('an older SQLite reads the same month to date, to the millisecond', async () => {
  const { connection, path } = openLedger();
  const read = async (previous: number, now: number, nowMs: number) => {
    const records = [usageRecord('acme', previous, PREVIOUS), usageRecord('bolt', previous * 3, PREVIOUS)];
    const open = [usageRecord('acme', now, MONTH), usageRecord('bolt', now + 77, MONTH)];
    await publish(connection, nowMs < MONTH_START ? records : [...records, ...open], { nowMs });
  };
  const [elapsed, part] = [THIS_SECOND - MONTH_START, 789];
  await read(500, 0, PREVIOUS_START + Math.floor(elapsed / 2) + 123);
  // Read at the very millisecond with which the last reading is compared: half of one later, and it would not count.
  if (PREVIOUS_START + elapsed + part < MONTH_START) await read(700, 0, PREVIOUS_START + elapsed + part);
  await read(900, 1_234_567, THIS_SECOND + part);
  expect(expectSameInOlderSqlite(connection, path)).toMatchObject({ finance_month_to_date: 2, finance_usage: 4 });
});
