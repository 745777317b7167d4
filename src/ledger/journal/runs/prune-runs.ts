import type { LedgerConnection } from '../../store/file/open.ts';

/** Runs that one transaction looks at. */
const RUNS_A_STEP = 500;

export interface PrunedRuns {
  /** Certificates that are gone. */
  certificates: number;
  /** Runs that are gone: none of them had been published. */
  runs: number;
  /** Older runs are left to look at. */
  more: boolean;
}

/**
 * Forgets the certificates of published runs without entries, and whole runs that published nothing, when they were
 * started before `before` (ISO-8601 UTC). A published run itself stays: without each of its links the chain proves nothing
 * of what lies before. Looks at a bounded number of runs, in the order of their keys, and goes on there the next time.
 */
export function pruneRuns(connection: LedgerConnection, before: string): PrunedRuns {
  return connection.transaction(() => prune(connection, before)).immediate();
}

/** The run from which on every certificate is kept; older runs without entries may have lost theirs. */
export function keptFromRun(connection: LedgerConnection): number {
  const value = connection.prepare("SELECT value FROM ledger_meta WHERE name = 'kept_from_run'").pluck().get();
  return value === undefined ? 0 : Number(value);
}

function prune(connection: LedgerConnection, before: string): PrunedRuns {
  const from = keptFromRun(connection);
  const next = connection
    .prepare('SELECT run_key AS runKey, started_at AS startedAt FROM runs WHERE run_key >= ? ORDER BY run_key LIMIT ?')
    .all(from, RUNS_A_STEP) as { runKey: number; startedAt: string }[];
  const firstKept = next.findIndex(({ startedAt }) => startedAt >= before);
  const old = firstKept === -1 ? next : next.slice(0, firstKept);
  const last = old.at(-1);
  if (last === undefined) return { certificates: 0, runs: 0, more: false };
  // First of all: the triggers let go only of what lies before it.
  connection
    .prepare(
      `INSERT INTO ledger_meta (name, value) VALUES ('kept_from_run', ?)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    )
    .run(String(last.runKey + 1));
  // The last run of a workspace says how it fares; its lease names it.
  const gone = `run_key >= @from AND run_key <= @to AND entries = 0 AND status <> 'running'
    AND (applied_seq IS NOT NULL OR run_key NOT IN (SELECT run_key FROM leases))`;
  const range = { from, to: last.runKey };
  const certificates = connection
    .prepare(
      `DELETE FROM walks WHERE run_key >= @from AND run_key <= @to
         AND run_key IN (SELECT run_key FROM runs WHERE ${gone})`,
    )
    .run(range).changes;
  const runs = connection.prepare(`DELETE FROM runs WHERE ${gone} AND applied_seq IS NULL`).run(range).changes;
  return { certificates, runs, more: old.length === RUNS_A_STEP };
}
