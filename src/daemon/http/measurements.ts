import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Queue } from 'bullmq';
import { type AlertCount, countAlerts } from '../../alerts/state/open-alerts.ts';
import { systemClock } from '../../core/clock.ts';
import { freeBytesAt } from '../../core/process/disk.ts';
import type { WorkspaceLine } from '../../freshness/workspace-status.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { asc, eq, gt, inArray, query, type SQL } from '../../ledger/store/schema/drizzle.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { readOutletStatuses } from '../../outlets/outlet-status.ts';
import type { ExportStatus } from '../../reports/files/export-folder.ts';
import type { Context } from '../../wiring/context.ts';

const SELECT_OLDEST_DUE = `SELECT min(pending_at) FROM alert_notified
  WHERE pending IS NOT NULL AND given_up = 0 AND (batch IS NULL OR failures > 0)`;

export type Measurements = ReturnType<typeof createMeasurements>;

interface Measured {
  queues: readonly Queue[];
  workspaces(): WorkspaceLine[];
  /**
   * The statuses of the exports, as last read from their folders. The folders are not read for each request, because a
   * folder may hang.
   */
  exportStatuses(): readonly ExportStatus[];
}

export function createMeasurements(context: Context, { queues, workspaces, exportStatuses }: Measured) {
  const { connection } = context.reader();
  const selectOldestDue = connection.prepare(SELECT_OLDEST_DUE).pluck();
  return {
    metricEvents: context.metricEvents,
    reservedBytes: () => context.reservedResponseBytes,
    /** Returns the time of each workspace's next attempt; workspaces without one are omitted. */
    nextAttempts: () =>
      workspaces().flatMap(({ workspace_id: workspaceId, next_attempt_at: at }) =>
        at === null ? [] : [{ workspaceId, atMs: Date.parse(at) }],
      ),
    storage() {
      const { path } = context.config.ledger;
      const diskFreeBytes = freeBytesAt(dirname(path));
      return { ledgerBytes: fileBytes(path), logBytes: fileBytes(`${path}-wal`), diskFreeBytes };
    },
    head: () => headOfChain(connection),
    exports: () =>
      exportStatuses().map(({ name, failing, writtenAt }) => {
        return { name, failing: failing !== null, lastAtMs: writtenAt === null ? null : Date.parse(writtenAt) };
      }),
    outlets: () => readOutletStatuses(connection, context.config.outlets),
    /** Counts the alerts whose cause has not ended, including unconfirmed alerts. */
    alerts: (): Pick<AlertCount, 'rule' | 'state' | 'count'>[] => countAlerts(connection),
    /**
     * Returns the age of the oldest due notification that does not wait for a group or a summary; 0 if no notification
     * is due.
     */
    outboxAgeSeconds() {
      const at = selectOldestDue.get() as string | null;
      return at === null ? 0 : Math.max(0, context.clock.now() - Date.parse(at)) / 1000;
    },
    /** Returns the age of the oldest waiting job of each queue; 0 if no job waits. Reads Redis and may reject. */
    async queueAgesSeconds(): Promise<Record<string, number>> {
      const ages = queues.map(async (queue) => {
        const [job] = await queue.getJobs(['waiting'], 0, 0, true);
        // BullMQ takes a job's timestamp from the system clock.
        const age = job === undefined ? 0 : Math.max(0, systemClock.now() - job.timestamp) / 1000;
        return [queueLabel(queue.name), age] as const;
      });
      return Object.fromEntries(await Promise.all(ages));
    },
  };
}

/** Returns the short name of a queue, such as `sync`; its name in Redis also contains the id of the ledger. */
export function queueLabel(name: string): string {
  return name.slice(name.lastIndexOf('-') + 1);
}

function fileBytes(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

export interface RunCount {
  workspaceId: string;
  status: string;
  count: number;
  /** Total duration of these runs, each from its claim of the workspace to its end. */
  seconds: number;
  pages: number;
  records: number;
}

interface LatestRunRow {
  runKey: number;
  workspaceId: string;
  status: string;
  startedAt: string;
  finishedAt: string | null;
  pages: number | null;
  records: number | null;
}

/** The most runs that one query reads, because a ledger may have the runs of years. */
const RUNS_PER_READ = 5000;

/**
 * Creates a counter of the ledger's ended runs. Each call of `counts` reads only runs that are new or were still
 * running at the previous call. Ended runs keep their status, and pruned runs stay counted, so the counts never
 * decrease.
 */
export function createRunTally(connection: LedgerDb) {
  const { runKey, status, startedAt, finishedAt, pages, records } = runs;
  const read = (isInPeriods: SQL | undefined): LatestRunRow[] =>
    query(connection)
      .select({ runKey, workspaceId: workspaces.workspaceId, status, startedAt, finishedAt, pages, records })
      .from(runs)
      .innerJoin(workspaces, eq(workspaces.workspaceKey, runs.workspaceKey))
      .where(isInPeriods)
      .orderBy(asc(runKey))
      .limit(RUNS_PER_READ)
      .all();
  const counts = new Map<string, RunCount>();
  const running = new Set<number>();
  const listeners: ((seconds: number) => void)[] = [];
  let lastKey = 0;

  const countRun = ({ runKey, workspaceId, status, startedAt, finishedAt, pages, records }: LatestRunRow): void => {
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
    // If a run that was still running is missing now, it applied nothing: retention prunes such runs.
    const asked = [...running];
    running.clear();
    for (const row of read(inArray(runKey, asked))) countRun(row);
    for (;;) {
      const rows = read(gt(runKey, lastKey));
      for (const row of rows) countRun(row);
      lastKey = rows.at(-1)?.runKey ?? lastKey;
      if (rows.length < RUNS_PER_READ) return [...counts.values()];
    }
  };
  return {
    counts: countRuns,
    /**
     * Registers a listener that gets the duration, in seconds, of each ended run that a later call of `counts` finds.
     */
    onRun: (listener: (seconds: number) => void): void => void listeners.push(listener),
  };
}
