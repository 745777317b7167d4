import type Database from 'better-sqlite3';
import { ageMs } from '../../core/stored-time.ts';
import { alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import { and, count, eq, prepared, sql } from '../../ledger/store/schema/drizzle.ts';
import { tenantUsage } from '../../ledger/store/schema/run-tables.ts';
import type { Curves } from './curves.ts';

/** What begins again and again ends when its figures have stood for so long. */
const STANDS_AFTER_MS = 7 * 86_400_000;

const timesFired = prepared((db) => {
  const isFired = and(eq(alertTransitions.alertKey, sql.placeholder('alertKey')), eq(alertTransitions.change, 'fired'));
  return db.select({ times: count() }).from(alertTransitions).where(isFired);
});

const lastChange = prepared((db) => {
  const { periodKey, tenantKey, changedRunKey } = tenantUsage;
  const isKey = and(eq(periodKey, sql.placeholder('periodKey')), eq(tenantKey, sql.placeholder('tenantKey')));
  return db.select({ runKey: changedRunKey }).from(tenantUsage).where(isKey);
});

/** Whether an alert that has begun more than once is about figures that were changed less than a week ago. */
export function createRepeats(
  connection: Database.Database,
  curves: Curves,
  nowMs: number,
): (alert: { alertKey: number; periodKey: number | null; tenantKey: number | null }) => boolean {
  return ({ alertKey, periodKey, tenantKey }) => {
    if ((timesFired(connection).get({ alertKey })?.times ?? 0) < 2) return false;
    const runKey = lastChange(connection).get({ periodKey, tenantKey })?.runKey;
    // A run that is under way has no time yet.
    const changedMs = runKey === undefined ? null : curves.endOf(runKey);
    return (ageMs(changedMs, nowMs) ?? 0) < STANDS_AFTER_MS;
  };
}
