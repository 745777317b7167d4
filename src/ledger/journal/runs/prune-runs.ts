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

/** The name of what is kept in `ledger_meta`; triggers have it, too. */
const KEPT_FROM_RUN = 'kept_from_run';

const RUNS_A_STEP = 500;

export interface PrunedRuns {
  certificates: number;
  runs: number;
  more: boolean;
}

/**
 * Forgets the certificates of applied runs without entries, and whole runs that applied nothing, when they were
 * started before `before` (ISO-8601 UTC). A run whose start lies in the future is as old as those around it: it goes once a
 * later one is old. An applied run itself stays: without each of its links the chain proves nothing
 * of what lies before. Looks at a bounded number of runs, in the order of their keys, and goes on there the next time.
 */
export function pruneRuns(connection: LedgerDb, before: string, nowMs: number): PrunedRuns {
  return connection.transaction(() => prune(connection, before, nowMs)).immediate();
}

/** The run from which on every certificate is kept; older runs without entries may have lost theirs. */
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
    .limit(RUNS_A_STEP)
    .all();
  const isKnown = (run: { startedAt: string }) => canHaveHappened(Date.parse(run.startedAt), nowMs);
  const firstKept = next.findIndex((run) => run.startedAt >= before && isKnown(run));
  const begun = firstKept === -1 ? next : next.slice(0, firstKept);
  // So many without one whose time is known must not keep the others for ever.
  const lastOld = begun.length === RUNS_A_STEP && !begun.some(isKnown) ? begun.length : begun.findLastIndex(isKnown);
  const old = begun.slice(0, lastOld + 1);
  const last = old.at(-1);
  if (last === undefined) return { certificates: 0, runs: 0, more: false };
  // First of all: the triggers let go only of what lies before it.
  writeMeta(connection, KEPT_FROM_RUN, String(last.runKey + 1));
  // The last run of a workspace says how it fares; its lease names it.
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
  return { certificates, runs: changes, more: next.length === RUNS_A_STEP && firstKept === -1 };
}
