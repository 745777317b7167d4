import type Database from 'better-sqlite3';
import { isoTime } from '../../../core/clock.ts';
import { and, count, eq, gte, lte, query } from '../../store/schema/drizzle.ts';
import { windowBounds } from '../../store/schema/keys.ts';
import { runs, tenantUsage, walks } from '../../store/schema/run-tables.ts';
import { periods } from '../../store/schema/workspace-tables.ts';
import type { WalkFacts } from '../staging/staging.ts';
import { type ClaimedRun, releaseLease } from './claim-run.ts';

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

/** `accepted`: proven complete. `moved`: the listing changed under it. `unconfirmed`: another walk must agree first. */
export type WalkVerdict = (typeof walks.$inferSelect)['verdict'];

export interface WalkRecord {
  walkNumber: number;
  startedAtMs: number;
  finishedAtMs: number;
  facts: WalkFacts;
  verdict: WalkVerdict;
  /** Stable names of the signs of movement that were seen, see src/sync/prove.ts. */
  signs: readonly string[];
}

export function recordWalk(connection: Database.Database, runKey: number, walk: WalkRecord): void {
  const { walkNumber, facts, verdict, signs } = walk;
  const { pages, records, distinctKeys, totalRecords, totalPages, keySetDigest, contentDigest } = facts;
  query(connection)
    .insert(walks)
    .values({
      runKey,
      walkNumber,
      startedAt: isoTime(walk.startedAtMs),
      finishedAt: isoTime(walk.finishedAtMs),
      pages,
      records,
      distinctKeys,
      totalRecords,
      totalPages,
      keySetDigest,
      contentDigest,
      verdict,
      signs: JSON.stringify(signs),
    })
    .run();
}
