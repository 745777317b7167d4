import { isoTime } from '../../../core/clock.ts';
import { addPeriods, type Period } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { adjustments } from '../../store/schema/billing-tables.ts';
import { and, desc, eq, gte, lte, query, sql } from '../../store/schema/drizzle.ts';
import { periodKeyOf, periodOfKey, workspaceKeyOf } from '../../store/schema/keys.ts';
import { runs } from '../../store/schema/run-tables.ts';
import type { periods } from '../../store/schema/workspace-tables.ts';
import { ensurePeriod, findPeriod } from '../../store/subjects.ts';
import { refuseTooLarge } from '../runs/sum-limits.ts';

/**
 * Books the changes that a run makes to closed periods: one adjustment per entry, in the first open period after the
 * closed one. The closed figures stay unchanged. Reads only `changedPeriods`, the periods with entries of the run, so
 * that runs do not become slower as more months are closed. Returns the number of adjustments.
 */
export function bookAdjustments(
  connection: LedgerDb,
  run: { lastEntryIdBefore: number; changedPeriods: Iterable<number>; nowMs: number },
): number {
  const book = connection.prepare(
    `INSERT INTO adjustments (corrects_period_key, tenant_key, booked_period_key, credits_delta, requests_delta,
       recorded_at, run_key, entry_id)
     SELECT period_key, tenant_key, ?, credits_delta, requests_delta, ?, run_key, entry_id
     FROM usage_entries WHERE entry_id > ? AND period_key = ? ORDER BY entry_id`,
  );
  let booked = 0;
  for (const periodKey of [...run.changedPeriods].sort((a, b) => a - b)) {
    if ((findPeriod(connection, periodKey)?.closedSeq ?? null) === null) continue;
    const booking = ensureBookingPeriod(connection, periodKey);
    booked += book.run(booking, isoTime(run.nowMs), run.lastEntryIdBefore, periodKey).changes;
    refuseLargeBookings(connection, booking);
    refuseLargeCorrections(connection, periodKey);
  }
  return booked;
}

/**
 * Reverses every adjustment of a period that is reopened, because the figures of an open period include those changes.
 * Returns the number of reversals.
 */
export function reverseAdjustments(
  connection: LedgerDb,
  reopened: { periodKey: number; eventSeq: number; nowMs: number },
): number {
  const { correctsPeriodKey, tenantKey, creditsDelta, requestsDelta } = adjustments;
  const outstanding = query(connection)
    .select({ tenantKey })
    .from(adjustments)
    .where(eq(correctsPeriodKey, reopened.periodKey))
    .groupBy(tenantKey)
    .having(sql`sum(${creditsDelta}) <> 0 OR sum(${requestsDelta}) <> 0`)
    .limit(1)
    .get();
  if (outstanding === undefined) return 0;
  const booking = ensureBookingPeriod(connection, reopened.periodKey);
  const { changes } = connection
    .prepare(
      `INSERT INTO adjustments (corrects_period_key, tenant_key, booked_period_key, credits_delta, requests_delta,
         recorded_at, event_seq)
       SELECT corrects_period_key, tenant_key, ?, -sum(credits_delta), -sum(requests_delta), ?, ?
       FROM adjustments WHERE corrects_period_key = ? GROUP BY tenant_key
       HAVING sum(credits_delta) <> 0 OR sum(requests_delta) <> 0 ORDER BY tenant_key`,
    )
    .run(booking, isoTime(reopened.nowMs), reopened.eventSeq, reopened.periodKey);
  refuseLargeBookings(connection, booking);
  return changes;
}

/**
 * Throws when the adjustments booked in a period sum to more than 64 bits. They can come from any number of corrected
 * periods.
 */
function refuseLargeBookings(connection: LedgerDb, bookedKey: number): void {
  const totals = connection.prepare(
    'SELECT sum(credits_delta), sum(requests_delta) FROM adjustments WHERE booked_period_key = ?',
  );
  refuseTooLarge(`the adjustments booked in ${periodOfKey(bookedKey)}`, totals, bookedKey);
}

/**
 * Throws when the adjustments of a tenant for one corrected period sum to more than 64 bits, because a reopen books the
 * negative of that sum.
 */
function refuseLargeCorrections(connection: LedgerDb, correctedKey: number): void {
  const largest = connection.prepare(
    `SELECT min(credits), min(requests) FROM (
       SELECT sum(credits_delta) AS credits, sum(requests_delta) AS requests
       FROM adjustments WHERE corrects_period_key = ? GROUP BY tenant_key)`,
  );
  refuseTooLarge(`the adjustments of a tenant in ${periodOfKey(correctedKey)}`, largest, correctedKey);
}

/** Returns the key of the first open period after the corrected one. Creates the period's row if it is missing. */
export function ensureBookingPeriod(connection: LedgerDb, correctedKey: number): number {
  const workspaceKey = workspaceKeyOf(correctedKey);
  for (let period = addPeriods(periodOfKey(correctedKey), 1); ; period = addPeriods(period, 1)) {
    const periodKey = periodKeyOf(workspaceKey, period);
    if (ensurePeriod(connection, periodKey).closedSeq === null) return periodKey;
  }
}

/**
 * Returns the key of the last applied run whose window contains a period; null if there is none. For a period without
 * records, this run is the only trace in the ledger.
 */
export function findCoveringRun(connection: LedgerDb, workspaceKey: number, period: Period): number | null {
  const covers = and(lte(runs.fromPeriod, period), gte(runs.toPeriod, period));
  const found = query(connection)
    .select({ runKey: runs.runKey })
    .from(runs)
    .where(and(eq(runs.workspaceKey, workspaceKey), eq(runs.status, 'applied'), covers))
    .orderBy(desc(runs.runKey))
    .limit(1)
    .get();
  return found?.runKey ?? null;
}

/**
 * Creates the row of a period without records so that it can be closed; returns undefined when no run has covered it.
 */
export function ensureCoveredPeriod(
  connection: LedgerDb,
  workspaceKey: number,
  period: Period,
): typeof periods.$inferSelect | undefined {
  const coveredRunKey = findCoveringRun(connection, workspaceKey, period);
  return coveredRunKey === null
    ? undefined
    : ensurePeriod(connection, periodKeyOf(workspaceKey, period), coveredRunKey);
}
