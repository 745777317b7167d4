import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { addPeriods } from '../../../../src/core/period.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { bookAdjustments } from '../../../../src/ledger/journal/close/adjustments.ts';
import type { StagedRecord } from '../../../../src/ledger/journal/staging/staged-record.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { periodKeyOf } from '../../../../src/ledger/store/schema/keys.ts';
import { type LedgerView, viewLedger } from '../../../support/ledger-view.ts';
import { closeMonth, openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { rejection } from '../../../support/rejection.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const HOUR = 3_600_000;
const JANUARY = '2026-01';
const FEBRUARY = '2026-02';
const MARCH = '2026-03';
const LARGEST = 2n ** 63n - 1n;
const MARCH_RECORD = usageRecord('a', 7, MARCH);

test('9223372036854775807 alone is exact, closed and adjusted away', async () => {
  const { connection, path } = openLedger();
  const view = viewLedger(path);
  await publish(connection, [usageRecord('a', LARGEST, FEBRUARY), MARCH_RECORD], { nowMs: NOON });
  expect(totals(view)[0]).toMatchObject({ credits_used: LARGEST });
  closeMonth(connection, FEBRUARY);

  await publish(connection, [usageRecord('a', 0, FEBRUARY), MARCH_RECORD], { nowMs: NOON });

  expect(totals(view)).toMatchObject([{ credits_used: LARGEST }, { adjustment_credits: -LARGEST }]);
  expect(verifyLedger(connection).faults).toEqual([]);
});

test('adjustments from several closed periods that sum to more than 2^63-1 in one period are refused', async () => {
  const { connection, path } = openLedger();
  const before = [usageRecord('a', 0, JANUARY), usageRecord('a', 0, FEBRUARY), MARCH_RECORD];
  await publish(connection, before, { nowMs: NOON });
  closeMonth(connection, JANUARY);
  closeMonth(connection, FEBRUARY);
  const after = [usageRecord('a', LARGEST, JANUARY), usageRecord('a', 1, FEBRUARY), MARCH_RECORD];
  await expectTooLarge(connection, path, after, MARCH);
  expect((await publish(connection, before, { nowMs: NOON })).entries).toBe(0);
});

async function expectTooLarge(
  connection: LedgerDb,
  path: string,
  records: StagedRecord[],
  period: string,
): Promise<void> {
  const view = viewLedger(path);
  const before = view.dump();
  expect(await rejection(publish(connection, records, { nowMs: NOON + HOUR }))).toEqual(
    expect.objectContaining({
      code: 'sum_too_large',
      retryable: false,
      message: expect.stringMatching(new RegExp(`${period} sum to more than 2\\^63-1$`)),
      hint: expect.stringContaining('nothing was applied'),
    }),
  );
  expect(view.dump()).toBe(before);
  expect(verifyLedger(connection).faults).toEqual([]);
  // The next run finds the workspace as after any crash: its lease expires.
  connection.prepare('UPDATE leases SET released = 1').run();
}

test.each([2, 40])('a run looks at the closed periods that it changed only, of %i', async (months) => {
  const { connection, path } = openLedger();
  const periods = Array.from({ length: months }, (_, index) => addPeriods(FEBRUARY, -index));
  await publish(connection, [...periods.map((period) => usageRecord('a', 1, period)), MARCH_RECORD], {
    nowMs: NOON - HOUR,
  });
  for (const period of periods) closeMonth(connection, period);
  const statements: unknown[] = [];
  const logged: LedgerDb = new Database(path, { verbose: (sql) => statements.push(sql) });
  const changedPeriods = new Set([periodKeyOf(1, FEBRUARY), periodKeyOf(1, MARCH)]);

  const booked = bookAdjustments(logged, { lastEntryIdBefore: 0, changedPeriods, nowMs: NOON });

  logged.close();
  expect(booked).toBe(1);
  // Is each of the two closed; where to book, what to book, and whether both sums still fit.
  expect(statements).toHaveLength(6);
});

function totals(view: LedgerView) {
  return view.rows(
    'SELECT period, tenants, credits_used, adjustment_credits, adjustment_requests FROM finance_period_totals ORDER BY period',
  );
}
