import { AppError } from '../../core/errors.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { and, count, eq, isNotNull, max, min, query } from '../../ledger/store/schema/drizzle.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { findWorkspace, highest } from '../../ledger/store/subjects.ts';

/** The recorded history of a workspace. Events up to `lastSeq` never change, so no snapshot is needed. */
export interface RecordedHistory {
  workspaceKey: number;
  workspaceId: string;
  /** The first run, which recorded its alerts and notified nobody. */
  firstRunKey: number | null;
  /** The last position in the chain that is replayed. */
  lastSeq: number;
  runs: number;
  /** ISO-8601 UTC. */
  firstRunAt: string;
  lastRunAt: string;
}

/** A recorded event: a run that was applied, or the close or reopening of a period. */
export interface RecordedLink {
  /** The position in the chain. It defines the order of events, even if a clock was wrong. */
  seq: number;
  action: 'run' | 'close' | 'reopen';
  /** ISO-8601 UTC. */
  at: string;
  /** 0 unless `action` is `run`. */
  runKey: number;
  runId: string;
  /** The first and last period that the run read; null is no limit. */
  fromPeriod: string | null;
  toPeriod: string | null;
  /** The id of the event's first entry; the ids of its entries are consecutive. Null without entries. */
  firstEntryId: number | null;
  entries: number;
  /** 0 unless a period was closed or reopened. */
  periodKey: number;
}

const PAGE = 500;

/**
 * Finds the history of a workspace.
 *
 * @throws AppError `no_history` if no run was applied yet.
 */
export function findHistory(connection: LedgerDb, workspaceId: string): RecordedHistory {
  const db = query(connection);
  const workspace = findWorkspace(connection, workspaceId);
  const times = { runs: count(), firstRunAt: min(runs.finishedAt), lastRunAt: max(runs.finishedAt) };
  const isApplied = and(eq(runs.workspaceKey, workspace?.workspaceKey ?? 0), isNotNull(runs.appliedSeq));
  const applied = db.select(times).from(runs).where(isApplied).get();
  const lastSeq = highest(connection, runs.appliedSeq);
  if (workspace !== undefined && applied?.firstRunAt && applied.lastRunAt) {
    const { workspaceKey, firstRunKey } = workspace;
    const { firstRunAt, lastRunAt } = applied;
    return { workspaceKey, workspaceId, firstRunKey, lastSeq, runs: applied.runs, firstRunAt, lastRunAt };
  }
  throw new AppError('no_history', `the ledger has no complete run of ${JSON.stringify(workspaceId)} to replay`, {
    hint: 'run `usage-ledger sync` or start the daemon; a longer history gives a better backtest',
  });
}

/** Yields the events of a workspace in order. They are read in pages, one of which is in memory. */
export function* readRecordedLinks(connection: LedgerDb, history: RecordedHistory): Generator<RecordedLink> {
  const page = connection.prepare(
    `SELECT applied_seq AS seq, 'run' AS action, finished_at AS at, run_key AS runKey, run_id AS runId,
       from_period AS fromPeriod, to_period AS toPeriod, first_entry_id AS firstEntryId, entries, 0 AS periodKey
     FROM runs WHERE workspace_key = @workspaceKey AND applied_seq > @after AND applied_seq <= @lastSeq
     UNION ALL
     SELECT event_seq, action, at, 0, '', NULL, NULL, NULL, 0, period_key
     FROM period_events WHERE workspace_key = @workspaceKey AND event_seq > @after AND event_seq <= @lastSeq
     ORDER BY seq LIMIT ${PAGE}`,
  );
  const { workspaceKey, lastSeq } = history;
  let after = 0;
  for (;;) {
    const links = page.all({ workspaceKey, after, lastSeq }) as RecordedLink[];
    yield* links;
    const last = links.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}
