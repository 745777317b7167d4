import type Database from 'better-sqlite3';
import { isoTime } from '../../../core/clock.ts';
import { query } from '../../store/query.ts';
import { and, count, eq, gte, lte } from '../../store/schema/drizzle.ts';
import { windowBounds } from '../../store/schema/keys.ts';
import { runs } from '../../store/schema/run-tables.ts';
import { tenantUsage } from '../../store/schema/usage-tables.ts';
import { periods } from '../../store/schema/workspace-tables.ts';
import { type ClaimedRun, releaseLease } from './claim-run.ts';

/** Why a run applied nothing. */
export interface RunFailure {
  status: 'failed' | 'unstable' | 'suspicious_empty';
  code: string;
  message: string;
  pages: number;
  records: number;
}

/** Ends a run that applies nothing and frees its workspace. False: it has been superseded before, and keeps that status. */
export function failRun(connection: Database.Database, run: ClaimedRun, failure: RunFailure, nowMs: number): boolean {
  return connection
    .transaction(() => {
      const { code: errorCode, message: errorMessage, ...rest } = failure;
      const { changes } = query(connection)
        .update(runs)
        .set({ ...rest, finishedAt: isoTime(nowMs), errorCode, errorMessage })
        .where(and(eq(runs.runKey, run.runKey), eq(runs.status, 'running')))
        .run();
      releaseLease(connection, run);
      return changes === 1;
    })
    .immediate();
}

/** How many records the ledger holds inside the window: an empty answer is suspicious when there are any. */
export function countKnownRecords(connection: Database.Database, run: ClaimedRun): number {
  const [from, to] = windowBounds(run.window);
  const isInWindow = and(
    eq(periods.workspaceKey, run.workspaceKey),
    gte(periods.period, from),
    lte(periods.period, to),
  );
  const known = query(connection)
    .select({ records: count() })
    .from(tenantUsage)
    .innerJoin(periods, eq(periods.periodKey, tenantUsage.periodKey))
    .where(and(isInWindow, eq(tenantUsage.withdrawn, 0)))
    .get();
  return known?.records ?? 0;
}
