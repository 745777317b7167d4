import { canHaveHappened } from '../../../core/stored-time.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import {
  and,
  asc,
  eq,
  gte,
  inArray,
  isNotNull,
  isNull,
  lte,
  ne,
  notInArray,
  or,
  query,
} from '../../store/schema/drizzle.ts';
import { readMeta, writeMeta } from '../../store/schema/identity.ts';
import { leases, runs, walks } from '../../store/schema/run-tables.ts';

/**
 * The name of a value in `ledger_meta` that triggers also read: the key of the run from which on every certificate (the
 * walks of a run) is kept.
 */
const KEPT_FROM_RUN = 'kept_from_run';

const RUNS_PER_STEP = 500;

export interface PrunedRuns {
  certificates: number;
  runs: number;
  more: boolean;
}

/**
 * Deletes the certificates (the rows about walks) of applied runs without entries, and whole runs that were not
 * applied, if they started before `before` (ISO-8601 UTC). A run dated in the future counts as old if a later run is
 * old. Keeps the rows of applied runs, because every link is needed to verify the chain. Handles a limited number of
 * runs in key order; `more` is true when another call would find more.
 */
export function pruneRuns(connection: LedgerDb, before: string, nowMs: number): PrunedRuns {
  return connection.transaction(() => prune(connection, before, nowMs)).immediate();
}

/**
 * Returns the key of the run from which on every certificate is kept. The certificates of older runs without entries
 * may have been deleted.
 */
export function keptFromRun(connection: LedgerDb): number {
  return Number(readMeta(connection, KEPT_FROM_RUN) ?? 0);
}

function prune(connection: LedgerDb, before: string, nowMs: number): PrunedRuns {
  const from = keptFromRun(connection);
  const db = query(connection);
  const { runKey, startedAt, appliedSeq } = runs;
  const next = db
    .select({ runKey, startedAt })
    .from(runs)
    .where(gte(runKey, from))
    .orderBy(asc(runKey))
    .limit(RUNS_PER_STEP)
    .all();
  const isKnown = (run: { startedAt: string }) => canHaveHappened(Date.parse(run.startedAt), nowMs);
  const firstKept = next.findIndex((run) => run.startedAt >= before && isKnown(run));
  const begun = firstKept === -1 ? next : next.slice(0, firstKept);
  // If all runs of a full step are dated in the future, they count as old. Otherwise they would block the deletion of
  // later runs for ever.
  const lastOld = begun.length === RUNS_PER_STEP && !begun.some(isKnown) ? begun.length : begun.findLastIndex(isKnown);
  const old = begun.slice(0, lastOld + 1);
  const last = old.at(-1);
  if (last === undefined) return { certificates: 0, runs: 0, more: false };
  // This key is written before the deletions, because the triggers allow only runs before this key to be deleted.
  writeMeta(connection, KEPT_FROM_RUN, String(last.runKey + 1));
  // The last run of a workspace is kept: `status` shows it, and the lease refers to it.
  const isNoLast = notInArray(runKey, db.select({ runKey: leases.runKey }).from(leases));
  const isGone = and(
    ...[gte(runKey, from), lte(runKey, last.runKey), eq(runs.entries, 0), ne(runs.status, 'running')],
    or(isNotNull(appliedSeq), isNoLast),
  );
  const { changes: certificates } = db
    .delete(walks)
    .where(inArray(walks.runKey, db.select({ runKey }).from(runs).where(isGone)))
    .run();
  const { changes } = db
    .delete(runs)
    .where(and(isGone, isNull(appliedSeq)))
    .run();
  return { certificates, runs: changes, more: next.length === RUNS_PER_STEP && firstKept === -1 };
}
