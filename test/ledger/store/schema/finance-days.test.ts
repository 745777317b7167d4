import { expect, test } from 'vitest';
import { expectSameInOlderSqlite } from '../../../support/machine-sqlite.ts';
import { closeMonth, openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { HOUR, MONTH, MONTH_START, NEXT_START, PREVIOUS, PREVIOUS_START, THIS_SECOND } from './day-readings.ts';

test('a month longer than the previous one is compared with all of that, as it was closed', async () => {
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

test('the same point of the previous month is the state of the last run in the chain by then, even after a clock was ahead', async () => {
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

test('a tenant with credits at the same point and no record yet stays in the month to date, with 0', async () => {
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
