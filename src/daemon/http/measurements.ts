import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Queue } from 'bullmq';
import { type AlertCount, countAlerts } from '../../alerts/track/open-alerts.ts';
import { systemClock } from '../../core/clock.ts';
import { freeBytesAt } from '../../core/process/disk.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { asc, eq, gt, inArray, query, type SQL } from '../../ledger/store/schema/drizzle.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { outletStandings } from '../../outlets/standing.ts';
import { readExportStatus } from '../../reports/files/export-folder.ts';
import type { Context } from '../../wiring/context.ts';
import type { WorkspaceLine } from '../state/status.ts';

const OLDEST_OWED = `SELECT min(owed_at) FROM alert_notified
  WHERE owed IS NOT NULL AND given_up = 0 AND (goes_with IS NULL OR failures > 0)`;

export type Measurements = ReturnType<typeof createMeasurements>;

export function createMeasurements(context: Context, queues: readonly Queue[], workspaces: () => WorkspaceLine[]) {
  const { connection } = context.reader();
  const oldestOwed = connection.prepare(OLDEST_OWED).pluck();
  return {
    metricEvents: context.metricEvents,
    reservedBytes: () => context.reservedBytes,
    /** When the daemon tries each workspace next; those that it does not try are left out. */
    nextAttempts: () =>
      workspaces().flatMap(({ workspace_id: workspaceId, next_attempt_at: at }) =>
        at === null ? [] : [{ workspaceId, atMs: Date.parse(at) }],
      ),
    storage() {
      const { path } = context.config.ledger;
      const diskFreeBytes = freeBytesAt(dirname(path));
      return { ledgerBytes: sizeOf(path), logBytes: sizeOf(`${path}-wal`), diskFreeBytes };
    },
    head: () => headOfChain(connection),
    exports: () =>
      context.config.exports.map((wanted) => {
        const { name, failing, writtenAt } = readExportStatus(wanted);
        return { name, failing: failing !== null, lastAtMs: writtenAt === null ? null : Date.parse(writtenAt) };
      }),
    outlets: () => outletStandings(connection, context.config.outlets),
    /** Alerts whose cause has not ended, those that wait to be confirmed among them. */
    alerts: (): Pick<AlertCount, 'rule' | 'state' | 'count'>[] => countAlerts(connection),
    /** How long a channel has been owed what waits for no others; 0 without anything. */
    outboxAgeSeconds() {
      const at = oldestOwed.get() as string | null;
      return at === null ? 0 : Math.max(0, context.clock.now() - Date.parse(at)) / 1000;
    },
    /** Age of the oldest job that could begin, by queue; 0 without one. Asks Redis; may reject. */
    async queueAgesSeconds(): Promise<Record<string, number>> {
      const ages = queues.map(async (queue) => {
        const [job] = await queue.getJobs(['waiting'], 0, 0, true);
        // BullMQ asks the system's clock when it writes the time of a job.
        const age = job === undefined ? 0 : Math.max(0, systemClock.now() - job.timestamp) / 1000;
        return [queueLabel(queue.name), age] as const;
      });
      return Object.fromEntries(await Promise.all(ages));
    },
  };
}

/** `sync`: the name inside Redis also holds the id of the ledger. */
export function queueLabel(name: string): string {
  return name.slice(name.lastIndexOf('-') + 1);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

export interface RunCount {
  workspaceId: string;
  status: string;
  count: number;
  /** From claim to end, all of them together. */
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

/** Years of runs are read so many at a time. */
const RUNS_A_READ = 5000;

/**
 * Counts the ended runs of the ledger. Each call reads only what is new since the one before: a run that has
 * ended keeps its status, and what is pruned stays counted, so the counts only grow and years of runs cost nothing.
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
      .limit(RUNS_A_READ)
      .all();
  const counts = new Map<string, RunCount>();
  const running = new Set<number>();
  const listeners: ((seconds: number) => void)[] = [];
  let lastKey = 0;

  const take = ({ runKey, workspaceId, status, startedAt, finishedAt, pages, records }: LatestRunRow): void => {
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
  return {
    counts: countRuns,
    /** Tells from now on how long each run took that a call of `counts` finds to have ended, in seconds. */
    onRun: (listener: (seconds: number) => void): void => void listeners.push(listener),
  };
}
