import type { LedgerConnection } from '../../ledger/store/file/open.ts';

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

/**
 * Returns what counts the ended runs of the ledger. Each call reads only what is new since the one before: a run that has
 * ended keeps its status, and what is pruned stays counted, so the counts only grow and years of runs cost nothing.
 */
export function createRunTally(connection: LedgerConnection): () => RunCount[] {
  const fields = `run_key AS runKey, workspace_id AS workspaceId, status, started_at AS startedAt,
    finished_at AS finishedAt, pages, records`;
  const source = 'runs JOIN workspaces USING (workspace_key)';
  const after = connection.prepare(`SELECT ${fields} FROM ${source} WHERE run_key > ? ORDER BY run_key`);
  const byKey = connection.prepare(`SELECT ${fields} FROM ${source} WHERE run_key = ?`);
  const counts = new Map<string, RunCount>();
  const running = new Set<number>();
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
    counts.set(key, {
      ...{ workspaceId, status, count: known.count + 1 },
      seconds: known.seconds + Math.max(0, tookMs) / 1000,
      pages: known.pages + (pages ?? 0),
      records: known.records + (records ?? 0),
    });
  };

  return () => {
    for (const runKey of [...running]) {
      const row = byKey.get(runKey) as RunRow | undefined;
      if (row === undefined) running.delete(runKey);
      else take(row);
    }
    for (const row of after.iterate(lastKey) as IterableIterator<RunRow>) {
      take(row);
      lastKey = row.runKey;
    }
    return [...counts.values()];
  };
}
