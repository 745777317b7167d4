import { isoTime } from '../../../core/clock.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { and, count, eq, gte, lte, query } from '../../store/schema/drizzle.ts';
import { windowBounds } from '../../store/schema/keys.ts';
import { runs, tenantUsage, walks } from '../../store/schema/run-tables.ts';
import { periods } from '../../store/schema/workspace-tables.ts';
import type { KeySet } from '../staging/key-set.ts';
import type { WalkFacts } from '../staging/staging.ts';
import { type ClaimedRun, releaseLease } from './claim-run.ts';
import { selectLastVerifiedWalk } from './known-listing.ts';

export interface RunFailure {
  status: 'failed' | 'unstable' | 'suspicious_empty' | 'suspicious_shrink';
  code: string;
  message: string;
  pages: number;
  records: number;
}

/**
 * Ends a run that is not applied, and releases its lease. Returns false, and leaves the status unchanged, when the run
 * was superseded before.
 */
export function failRun(connection: LedgerDb, run: ClaimedRun, failure: RunFailure, nowMs: number): boolean {
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

/**
 * Counts the records that the ledger has in the run's window (`known`), and by how many records the walk falls short of
 * them, month by month (`missing`). Returns null when the last applied run read the same window with the same keys, so
 * that nothing more is missing.
 */
export function countMissing(
  connection: LedgerDb,
  run: ClaimedRun,
  { keys, keySetDigest }: { keys: KeySet; keySetDigest: string },
): { known: number; missing: number } | null {
  const last = selectLastVerifiedWalk(connection).get({ workspaceKey: run.workspaceKey });
  const { window } = run;
  if (last?.walk.keySetDigest === keySetDigest && last.from === window.from && last.to === window.to) return null;
  const [from, to] = windowBounds(window);
  const isInWindow = and(
    eq(periods.workspaceKey, run.workspaceKey),
    gte(periods.period, from),
    lte(periods.period, to),
  );
  const known = query(connection)
    .select({ periodKey: periods.periodKey, records: count() })
    .from(tenantUsage)
    .innerJoin(periods, eq(periods.periodKey, tenantUsage.periodKey))
    .where(and(isInWindow, eq(tenantUsage.withdrawn, 0)))
    .groupBy(periods.periodKey)
    .all();
  const missing = known.map(({ periodKey, records }) => Math.max(0, records - keys.sizeOf(periodKey)));
  return { known: addCounts(known.map(({ records }) => records)), missing: addCounts(missing) };
}

function addCounts(counts: readonly number[]): number {
  return counts.reduce((total, each) => total + each, 0);
}

/**
 * `accepted`: verified complete. `moved`: the listing changed during the walk. `unconfirmed`: another walk must agree
 * first.
 */
export type WalkVerdict = (typeof walks.$inferSelect)['verdict'];

export interface WalkRecord {
  walkNumber: number;
  startedAtMs: number;
  finishedAtMs: number;
  facts: WalkFacts;
  verdict: WalkVerdict;
  /** Codes of the signs that the listing changed during the walk, see src/sync/judge-walk.ts. */
  signs: readonly string[];
}

export function recordWalk(connection: LedgerDb, runKey: number, walk: WalkRecord): void {
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
