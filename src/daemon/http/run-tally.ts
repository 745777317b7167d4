import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { query } from '../../ledger/store/query.ts';
import { asc, eq, gt, inArray, type SQL } from '../../ledger/store/schema/drizzle.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';

/** How many runs of a workspace have ended in one status. */
export interface RunCount {
  workspaceId: string;
  status: string;
  count: number;
  /** From claim to end, all of them together. */
  seconds: number;
  pages: number;
  records: number;
}

interface RunRow {
  runKey: number;
  workspaceId: string;
  status: string;
  startedAt: string;
  finishedAt: string | null;
  pages: number | null;
  records: number | null;
}

export interface RunTally {
  counts(): RunCount[];
  /** Tells from now on how long each run took that a call of `counts` finds to have ended, in seconds. */
  onRun(listener: (seconds: number) => void): void;
}

/** Years of runs are read so many at a time. */
const RUNS_A_READ = 5000;

/**
 * Counts the ended runs of the ledger. Each call reads only what is new since the one before: a run that has
 * ended keeps its status, and what is pruned stays counted, so the counts only grow and years of runs cost nothing.
 */
export function createRunTally(connection: LedgerConnection): RunTally {
  const { runKey, status, startedAt, finishedAt, pages, records } = runs;
  const read = (isWanted: SQL | undefined): RunRow[] =>
    query(connection)
      .select({ runKey, workspaceId: workspaces.workspaceId, status, startedAt, finishedAt, pages, records })
      .from(runs)
      .innerJoin(workspaces, eq(workspaces.workspaceKey, runs.workspaceKey))
      .where(isWanted)
      .orderBy(asc(runKey))
      .limit(RUNS_A_READ)
      .all();
  const counts = new Map<string, RunCount>();
  const running = new Set<number>();
  const listeners: ((seconds: number) => void)[] = [];
  let lastKey = 0;

  const take = ({ runKey, workspaceId, status, startedAt, finishedAt, pages, records }: RunRow): void => {
    if (status === 'running') {
      running.add(runKey);
      return;
    }
    running.delete(runKey);
    const key = JSON.stringify([workspaceId, status]);
    const known = counts.get(key) ?? { workspaceId, status, count: 0, seconds: 0, pages: 0, records: 0 };
    const tookMs = finishedAt === null ? 0 : Date.parse(finishedAt) - Date.parse(startedAt);
    const seconds = Math.max(0, tookMs) / 1000;
    for (const listener of listeners) listener(seconds);
    counts.set(key, {
      workspaceId,
      status,
      count: known.count + 1,
      seconds: known.seconds + seconds,
      pages: known.pages + (pages ?? 0),
      records: known.records + (records ?? 0),
    });
  };

  const countRuns = (): RunCount[] => {
    // One that is gone by now applied nothing: the retention lets go of such runs.
    const asked = [...running];
    running.clear();
    for (const row of read(inArray(runKey, asked))) take(row);
    for (;;) {
      const rows = read(gt(runKey, lastKey));
      for (const row of rows) take(row);
      lastKey = rows.at(-1)?.runKey ?? lastKey;
      if (rows.length < RUNS_A_READ) return [...counts.values()];
    }
  };
  return { counts: countRuns, onRun: (listener) => void listeners.push(listener) };
}
