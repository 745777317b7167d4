import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { countAlerts, countOpenAlerts } from '../../alerts/state/open-alerts.ts';
import type { Config } from '../../config/types.ts';
import { type CronSchedule, scheduleText } from '../../core/cron.ts';
import { summarizeError } from '../../core/errors.ts';
import { freeBytesAt, MIN_FREE_BYTES } from '../../core/process/disk.ts';
import { SEVERITIES } from '../../core/text/alert-words.ts';
import { isStale, readSyncFacts, staleAfterMs } from '../../freshness/staleness.ts';
import { countUndelivered } from '../../freshness/workspace-status.ts';
import type { QueueCounts, SyncQueue } from '../../queue/sync-queue.ts';
import type { Context } from '../../wiring/context.ts';
import type { PublishHealth } from '../watches/publish-watch.ts';
import { createRunTally } from './measurements.ts';

export interface Freshness {
  workspaceId: string;
  /** End of the last complete run, in milliseconds since the epoch; null if there was none. */
  lastCompleteRunAtMs: number | null;
  staleAfterMs: number;
  /**
   * True if there was no complete run for longer than `staleAfterMs`, although the daemon has run for at least as long.
   * A run that is queued or under way may prevent this, see `isStale`.
   */
  stale: boolean;
}

/** Answers the queries of the health and metrics pages. Only `queueCounts` uses the network; it may reject. */
export type HealthProbe = ReturnType<typeof createHealthProbe>;

export interface ProbedContext extends Pick<Context, 'clock' | 'reader' | 'writerFault'> {
  readonly config: Pick<Config, 'ledger' | 'workspaces' | 'http'>;
}

/**
 * Creates the probe of a running daemon. Call this when the daemon starts: the time that a workspace has for its first
 * run is measured from this call, or from the reload that adds the workspace.
 */
export function createHealthProbe(
  context: ProbedContext,
  queueSystem: Pick<SyncQueue, 'redisUp' | 'redisFault' | 'counts'>,
  waitingSince: (workspaceId: string, lastAttemptAtMs: number | null) => number | null,
  publishing: () => PublishHealth | null,
) {
  const { clock } = context;
  const { connection } = context.reader();
  /** Monotonic time since which this daemon has read each workspace. */
  const knownMs = new Map(context.config.workspaces.map(({ id }) => [id, clock.monotonic()]));
  const limits = new Map<string, number>();
  const limitOf = (schedule: CronSchedule): number => {
    const key = scheduleText(schedule);
    const limitMs = limits.get(key) ?? staleAfterMs(schedule, clock.now());
    limits.set(key, limitMs);
    return limitMs;
  };
  const tally = createRunTally(connection);

  // While Redis is unavailable, a workspace can be stale even if a job is queued for it.
  const waitingWhileUp = (id: string, lastAttemptAtMs: number | null): number | null =>
    queueSystem.redisUp ? waitingSince(id, lastAttemptAtMs) : null;

  return {
    redisUp: () => queueSystem.redisUp,
    redisFault: () => queueSystem.redisFault,
    writeFault: () => context.writerFault ?? ledgerFault(context.config.ledger.path),
    freshness(): Freshness[] {
      const nowMs = clock.now();
      const factsOf = readSyncFacts(connection);
      return context.config.workspaces.map((workspace) => {
        const { id, runMinutes } = workspace;
        const facts = factsOf(id);
        const sinceMs = knownMs.get(id) ?? clock.monotonic();
        knownMs.set(id, sinceMs);
        const upMs = clock.monotonic() - sinceMs;
        const { lastCompleteRunAtMs, lastAttemptAtMs } = facts;
        const bounds = { staleAfterMs: limitOf(workspace), runMs: runMinutes * 60_000 };
        const waitingSinceMs = waitingWhileUp(id, lastAttemptAtMs);
        const stale = isStale(facts, { waitingSinceMs, upMs }, bounds, nowMs);
        return { workspaceId: id, lastCompleteRunAtMs, staleAfterMs: bounds.staleAfterMs, stale };
      });
    },
    get maxToleratedStale(): number {
      const { workspaces, http } = context.config;
      return Math.floor((workspaces.length * http.readyWhenStalePercent) / 100);
    },
    /**
     * Returns the time since which a job of the workspace has been queued; null if no job is queued or Redis is
     * unavailable.
     */
    waitingSince: waitingWhileUp,
    async queueCounts(): Promise<Readonly<Record<string, QueueCounts>>> {
      return { sync: await queueSystem.counts() };
    },
    openAlerts() {
      const counts = countAlerts(connection);
      return SEVERITIES.map((severity) => ({
        severity,
        count: countOpenAlerts(counts.filter((each) => each.severity === severity)),
      }));
    },
    outbox: () => countUndelivered(connection),
    runs: tally.counts,
    onRun: tally.onRun,
    publishing,
  };
}

/**
 * Returns the reason why the ledger at `path` cannot be written; null if it can. This user needs write access to the
 * file and to its folder, where SQLite writes its log, and the disk needs more than `minFreeBytes` of free space.
 */
export function ledgerFault(path: string, minFreeBytes = MIN_FREE_BYTES): string | null {
  const folder = dirname(path);
  try {
    accessSync(path, constants.W_OK);
    accessSync(folder, constants.W_OK);
    const freeBytes = freeBytesAt(folder);
    return freeBytes > minFreeBytes ? null : `only ${freeBytes} bytes free in ${folder}`;
  } catch (error) {
    return summarizeError(error).message;
  }
}
