import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { addPeriods } from '../../../../src/core/period.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { commitClose } from '../../../../src/ledger/journal/charges/commit-close.ts';
import { bookAdjustments } from '../../../../src/ledger/journal/close/adjustments.ts';
import { closePeriod, type PeriodEvent, reopenPeriod } from '../../../../src/ledger/journal/close/close-period.ts';
import type { StagedRecord } from '../../../../src/ledger/journal/staging/staged-record.ts';
import type { LedgerConnection } from '../../../../src/ledger/store/file/open.ts';
import { periodKeyOf } from '../../../../src/ledger/store/schema/keys.ts';
import { type LedgerView, viewLedger } from '../../../support/ledger-view.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { rejection } from '../../../support/rejection.ts';
import type { Applied } from '../../../support/sandbox-fixture.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const HOUR = 3_600_000;
const JANUARY = '2026-01';
const FEBRUARY = '2026-02';
const MARCH = '2026-03';
const LARGEST = 2n ** 63n - 1n;
const MARCH_RECORD = usageRecord('a', 7, MARCH);

test('an increase after the close leaves the closed figures and is booked in the next open period', async () => {
  const { connection, view } = await openClosed();
  const closed = figures(view, FEBRUARY);

  const { entries } = await publish(connection, [usageRecord('a', 130, FEBRUARY), B, MARCH_RECORD], {
    nowMs: NOON + HOUR,
  });

  expect(entries).toBe(1);
  expect(figures(view, FEBRUARY)).toEqual(closed);
  expect(totals(view)).toEqual([
    { period: FEBRUARY, tenants: 2n, credits_used: 150n, adjustment_credits: 0n, adjustment_requests: 0n },
    { period: MARCH, tenants: 1n, credits_used: 7n, adjustment_credits: 30n, adjustment_requests: 0n },
  ]);
  expect(view.rows('SELECT * FROM finance_adjustments')).toEqual([
    {
      workspace_id: 'ws-1',
      tenant_id: 'a',
      corrects_period: FEBRUARY,
      booked_period: MARCH,
      credits_delta: 30n,
      requests_delta: 0n,
      recorded_at: '2026-03-20T13:00:00.000Z',
      run_id: view.value('SELECT run_id FROM finance_runs ORDER BY started_at DESC LIMIT 1'),
      kind: 'correction',
      entry_id: 4n,
    },
  ]);
  expect(verifyLedger(connection).faults).toEqual([]);
});

const LATER: { what: string; records: StagedRecord[]; booked: string[] }[] = [
  {
    what: 'a decrease',
    records: [usageRecord('a', 60, '2026-02'), usageRecord('b', 50, '2026-02')],
    booked: ['a -40'],
  },
  {
    what: 'a newcomer',
    records: [usageRecord('a', 100, '2026-02'), usageRecord('b', 50, '2026-02'), usageRecord('c', 9, '2026-02')],
    booked: ['c 9'],
  },
  { what: 'a withdrawal', records: [usageRecord('a', 100, '2026-02')], booked: ['b -50'] },
];

test.each(LATER)(
  '$what after the close leaves the closed figures and becomes an adjustment',
  async ({ records, booked }) => {
    const { connection, view } = await openClosed();
    const closed = figures(view, FEBRUARY);

    for (const hours of [1, 2]) await withdrawing(connection, [...records, MARCH_RECORD], NOON + hours * HOUR);

    expect(figures(view, FEBRUARY)).toEqual(closed);
    expect(bookings(view)).toEqual(booked.map((line) => `${line} 2026-02 -> 2026-03`));
    expect(verifyLedger(connection).faults).toEqual([]);
  },
);

test('what was withdrawn after the close and comes back is adjusted back', async () => {
  const { connection, view } = await openClosed();
  const closed = figures(view, FEBRUARY);
  for (const hours of [1, 2]) await withdrawing(connection, [A, MARCH_RECORD], NOON + hours * HOUR);

  await publish(connection, [A, B, MARCH_RECORD], { nowMs: NOON + 3 * HOUR });

  expect(figures(view, FEBRUARY)).toEqual(closed);
  expect(bookings(view)).toEqual(['b -50 2026-02 -> 2026-03', 'b 50 2026-02 -> 2026-03']);
  expect(view.value("SELECT adjustment_credits FROM finance_period_totals WHERE period = '2026-03'")).toBe(0n);
  expect(view.value("SELECT group_concat(kind) FROM finance_history WHERE tenant_id = 'b'")).toBe(
    'opened,withdrawn,restored',
  );
});

test('an adjustment is never booked in a closed period, and what was booked before its close stays there', async () => {
  const { connection, view } = await openClosed();
  await publish(connection, [usageRecord('a', 101, FEBRUARY), B, MARCH_RECORD], { nowMs: NOON });
  await publish(connection, [usageRecord('x', 1, '2026-04')], { nowMs: NOON });
  close(connection, MARCH);

  await publish(connection, [usageRecord('a', 103, FEBRUARY), B, MARCH_RECORD], { nowMs: NOON });

  expect(bookings(view)).toEqual(['a 1 2026-02 -> 2026-03', 'a 2 2026-02 -> 2026-04']);
  expect(view.value("SELECT adjustment_credits FROM finance_period_totals WHERE period = '2026-03'")).toBe(1n);
});

test('an adjustment is booked in the first later month that is not closed, though nothing was recorded in it', async () => {
  const { connection, view } = await openClosed();
  close(connection, MARCH);
  const june = usageRecord('a', 9, '2026-06');
  const at = Date.UTC(2026, 5, 2);
  await publish(connection, [june], { nowMs: at });

  await publish(connection, [usageRecord('a', 101, FEBRUARY), B, MARCH_RECORD, june], { nowMs: at });

  expect(bookings(view)).toEqual(['a 1 2026-02 -> 2026-04']);
  expect(
    view.rows(
      "SELECT tenants, credits_used, adjustment_credits, complete, as_of FROM finance_period_totals WHERE period = '2026-04'",
    ),
  ).toEqual([{ tenants: 0n, credits_used: 0n, adjustment_credits: 1n, complete: 0n, as_of: null }]);
  expect(verifyLedger(connection).faults).toEqual([]);

  close(connection, '2026-04', at);
  await publish(connection, [usageRecord('a', 103, FEBRUARY), B, MARCH_RECORD, june], { nowMs: at });
  reopen(connection, FEBRUARY, at);
  expect(bookings(view)).toEqual(['a 1 2026-02 -> 2026-04', 'a 2 2026-02 -> 2026-05', 'a -3 2026-02 -> 2026-05']);
  expect(verifyLedger(connection).faults).toEqual([]);
});

test('when the last known period is closed ahead of its time the adjustment makes the one after it', async () => {
  const { connection, view } = await openClosed();
  close(connection, MARCH);
  await publish(connection, [usageRecord('a', 101, FEBRUARY), B, MARCH_RECORD], { nowMs: NOON });
  expect(bookings(view)).toEqual(['a 1 2026-02 -> 2026-04']);

  await publish(connection, [usageRecord('a', 5, '2026-04')], { nowMs: NOON });
  expect(totals(view).at(-1)).toMatchObject({ period: '2026-04', credits_used: 5n, adjustment_credits: 1n });
  expect(verifyLedger(connection).faults).toEqual([]);
});

test('a reopen takes the adjustments back and the figures are live again; a second close freezes them anew', async () => {
  const { connection, view } = await openClosed();
  await publish(connection, [usageRecord('a', 130, FEBRUARY), B, MARCH_RECORD], { nowMs: NOON + HOUR });

  const reopened = reopen(connection, FEBRUARY, NOON + 2 * HOUR);

  expect(reopened).toMatchObject({ action: 'reopen', reversed: 1, creditsUsed: 150n });
  expect(bookings(view)).toEqual(['a 30 2026-02 -> 2026-03', 'a -30 2026-02 -> 2026-03']);
  expect(view.rows("SELECT run_id, entry_id, recorded_at FROM finance_adjustments WHERE kind = 'reopen'")).toEqual([
    { run_id: null, entry_id: null, recorded_at: '2026-03-20T14:00:00.000Z' },
  ]);
  expect(totals(view)).toEqual([
    { period: FEBRUARY, tenants: 2n, credits_used: 180n, adjustment_credits: 0n, adjustment_requests: 0n },
    { period: MARCH, tenants: 1n, credits_used: 7n, adjustment_credits: 0n, adjustment_requests: 0n },
  ]);
  await publish(connection, [usageRecord('a', 131, FEBRUARY), B, MARCH_RECORD], { nowMs: NOON + 3 * HOUR });
  expect(figures(view, FEBRUARY)[0]).toMatchObject({ tenant_id: 'a', credits_used: 131n });
  expect(bookings(view)).toHaveLength(2);

  close(connection, FEBRUARY, NOON + 4 * HOUR);
  await publish(connection, [usageRecord('a', 140, FEBRUARY), B, MARCH_RECORD], { nowMs: NOON + 5 * HOUR });
  expect(figures(view, FEBRUARY)[0]).toMatchObject({ tenant_id: 'a', credits_used: 131n, state: 'closed' });
  expect(bookings(view)).toEqual(['a 30 2026-02 -> 2026-03', 'a -30 2026-02 -> 2026-03', 'a 9 2026-02 -> 2026-03']);
  expect(view.rows('SELECT action, actor, credits_used FROM finance_closes ORDER BY event_seq')).toEqual([
    { action: 'close', actor: 'Ada', credits_used: 150n },
    { action: 'reopen', actor: 'Bo', credits_used: 150n },
    { action: 'close', actor: 'Ada', credits_used: 181n },
  ]);
  expect(verifyLedger(connection).faults).toEqual([]);
});

test('the reopen of a period whose corrections have cancelled out books nothing and makes no period', async () => {
  const { connection, view } = await openClosed();
  await publish(connection, [usageRecord('a', 130, FEBRUARY), B, MARCH_RECORD], { nowMs: NOON });
  await publish(connection, [A, B, MARCH_RECORD], { nowMs: NOON });
  close(connection, MARCH);

  expect(reopen(connection, FEBRUARY).reversed).toBe(0);

  expect(totals(view).map(({ period }) => period)).toEqual([FEBRUARY, MARCH]);
});

test('9223372036854775807 alone is exact, closed and adjusted away', async () => {
  const { connection, path } = openLedger();
  const view = viewLedger(path);
  await publish(connection, [usageRecord('a', LARGEST, FEBRUARY), MARCH_RECORD], { nowMs: NOON });
  expect(totals(view)[0]).toMatchObject({ credits_used: LARGEST });
  close(connection, FEBRUARY);

  await publish(connection, [usageRecord('a', 0, FEBRUARY), MARCH_RECORD], { nowMs: NOON });

  expect(totals(view)).toMatchObject([{ credits_used: LARGEST }, { adjustment_credits: -LARGEST }]);
  expect(verifyLedger(connection).faults).toEqual([]);
});

test('credits of a period that sum to more than 2^63-1 are refused and nothing is applied', async () => {
  const { connection, path } = openLedger();
  await publish(connection, [usageRecord('a', LARGEST, FEBRUARY)], { nowMs: NOON });
  await expectTooLarge(
    connection,
    path,
    [usageRecord('a', LARGEST, FEBRUARY), usageRecord('b', 1, FEBRUARY)],
    FEBRUARY,
  );
});

test('a record that the walk has missed still counts towards the limit of its period', async () => {
  const { connection, path } = openLedger();
  await publish(connection, [usageRecord('a', LARGEST, FEBRUARY)], { nowMs: NOON });
  await expectTooLarge(connection, path, [usageRecord('b', 1, FEBRUARY)], FEBRUARY);
});

test('adjustments of several closed periods that sum to more than 2^63-1 in one are refused', async () => {
  const { connection, path } = openLedger();
  const before = [usageRecord('a', 0, JANUARY), usageRecord('a', 0, FEBRUARY), MARCH_RECORD];
  await publish(connection, before, { nowMs: NOON });
  close(connection, JANUARY);
  close(connection, FEBRUARY);
  const after = [usageRecord('a', LARGEST, JANUARY), usageRecord('a', 1, FEBRUARY), MARCH_RECORD];
  await expectTooLarge(connection, path, after, MARCH);
  expect((await publish(connection, before, { nowMs: NOON })).entries).toBe(0);
});

async function expectTooLarge(
  connection: LedgerConnection,
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

const A = usageRecord('a', 100, FEBRUARY);
const B = usageRecord('b', 50, FEBRUARY);

test.each([2, 40])('a run looks at the closed periods that it changed only, of %i', async (months) => {
  const { connection, path } = openLedger();
  const periods = Array.from({ length: months }, (_, index) => addPeriods(FEBRUARY, -index));
  await publish(connection, [...periods.map((period) => usageRecord('a', 1, period)), MARCH_RECORD], {
    nowMs: NOON - HOUR,
  });
  for (const period of periods) close(connection, period);
  const statements: unknown[] = [];
  const logged: LedgerConnection = new Database(path, { verbose: (sql) => statements.push(sql) });
  const changedPeriods = new Set([periodKeyOf(1, FEBRUARY), periodKeyOf(1, MARCH)]);

  const booked = bookAdjustments(logged, { lastEntryIdBefore: 0, changedPeriods, nowMs: NOON });

  logged.close();
  expect(booked).toBe(1);
  // Is each of the two closed; where to book, what to book, and whether both sums still fit.
  expect(statements).toHaveLength(6);
});

/** February is closed with a = 100 and b = 50, March is open. */
async function openClosed() {
  const { connection, path } = openLedger();
  await publish(connection, [A, B, MARCH_RECORD], { nowMs: NOON - HOUR });
  close(connection, FEBRUARY);
  return { connection, view: viewLedger(path) };
}

function close(connection: LedgerConnection, period: string, nowMs = NOON): PeriodEvent {
  const request = { workspaceId: 'ws-1', by: 'Ada', note: '', force: true, settleHours: 48 };
  return closePeriod(connection, { ...request, period, nowMs }, commitClose);
}

function reopen(connection: LedgerConnection, period: string, nowMs = NOON): PeriodEvent {
  return reopenPeriod(connection, { workspaceId: 'ws-1', period, by: 'Bo', note: 'a mistake', nowMs });
}

/** Publishes a walk; what it misses for the second time is withdrawn. */
function withdrawing(connection: LedgerConnection, records: StagedRecord[], nowMs: number): Promise<Applied> {
  return publish(connection, records, { nowMs, withdraws: true });
}

function figures(view: LedgerView, period: string) {
  return view.rows('SELECT * FROM finance_usage WHERE period = ? ORDER BY tenant_id', period);
}

function totals(view: LedgerView) {
  return view.rows(
    'SELECT period, tenants, credits_used, adjustment_credits, adjustment_requests FROM finance_period_totals ORDER BY period',
  );
}

/** Each adjustment as `tenant credits corrected -> booked`, in the order in which they were made. */
function bookings(view: LedgerView): unknown[] {
  return view
    .rows(
      `SELECT tenant_id || ' ' || credits_delta || ' ' || corrects_period || ' -> ' || booked_period AS line
       FROM finance_adjustments ORDER BY recorded_at, booked_period`,
    )
    .map(({ line }) => line);
}
