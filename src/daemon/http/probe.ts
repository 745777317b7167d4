import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import type { Severity } from '../../alerts/measures/judgement.ts';
import { countAlerts, sumOpen } from '../../alerts/track/open-alerts.ts';
import type { Config } from '../../config/types.ts';
import { summarizeError } from '../../core/errors.ts';
import { freeBytesAt } from '../../core/process/disk.ts';
import type { QueueCounts, SyncQueue } from '../../queue/sync-queue.ts';
import type { Context } from '../../wiring/context.ts';
import type { PublishHealth } from '../publish-watch.ts';
import { isStale, staleAfterMs, syncFactsReader } from '../state/staleness.ts';
import { outboxCounts } from '../state/status.ts';
import { createRunTally } from './measurements.ts';

const SEVERITIES: readonly Severity[] = ['warning', 'critical'];

export interface Freshness {
  workspaceId: string;
  /** When the last complete run ended, in milliseconds since the epoch; null when there never was one. */
  lastCompleteRunAtMs: number | null;
  staleAfterMs: number;
  /** No complete run for longer than that, nor has the daemon run for less; by a fault of the service or of ours. */
  stale: boolean;
}

/** What the pages of health and metrics ask. Only `queueCounts` goes beyond this machine; it may reject. */
export type HealthProbe = ReturnType<typeof createHealthProbe>;

export interface ProbedContext extends Pick<Context, 'clock' | 'reader' | 'writerFault'> {
  readonly config: Pick<Config, 'ledger' | 'workspaces' | 'http'>;
}

/**
 * The probe of a running daemon; make it when the daemon starts, because from then on, or from when it comes into the
 * configuration, a workspace has time for its first run. A workspace is stale after two of its longest pauses between ticks, and a minute.
 */
export function createHealthProbe(
  context: ProbedContext,
  queueSystem: Pick<SyncQueue, 'redisUp' | 'redisFault' | 'counts'>,
  waitingSince: (workspaceId: string, lastAttemptAtMs: number | null) => number | null,
  publishing: () => PublishHealth | null,
) {
  const { clock } = context;
  const { connection } = context.reader();
  /** Since when each workspace is to be read by this daemon. */
  const knownMs = new Map(context.config.workspaces.map(({ id }) => [id, clock.monotonic()]));
  const limits = new Map<string, number>();
  const limitOf = (cron: string): number => {
    const limitMs = limits.get(cron) ?? staleAfterMs(cron, clock.now());
    limits.set(cron, limitMs);
    return limitMs;
  };
  const factsOf = syncFactsReader(connection);
  const tally = createRunTally(connection);

  // While Redis is away a job does not wait for its place: that is our fault.
  const waitingWhileUp = (id: string, lastAttemptAtMs: number | null): number | null =>
    queueSystem.redisUp ? waitingSince(id, lastAttemptAtMs) : null;

  return {
    redisUp: () => queueSystem.redisUp,
    redisFault: () => queueSystem.redisFault,
    ledgerWritable: () => context.writerFault ?? ledgerFault(context.config.ledger.path),
    freshness(): Freshness[] {
      const nowMs = clock.now();
      return context.config.workspaces.map(({ id, cron, runMinutes }) => {
        const facts = factsOf(id);
        const sinceMs = knownMs.get(id) ?? clock.monotonic();
        knownMs.set(id, sinceMs);
        const upMs = clock.monotonic() - sinceMs;
        const { lastCompleteRunAtMs, lastAttemptAtMs } = facts;
        const bounds = { staleAfterMs: limitOf(cron), runMs: runMinutes * 60_000 };
        const waitingSinceMs = waitingWhileUp(id, lastAttemptAtMs);
        const stale = isStale(facts, { waitingSinceMs, upMs }, bounds, nowMs);
        return { workspaceId: id, lastCompleteRunAtMs, staleAfterMs: bounds.staleAfterMs, stale };
      });
    },
    get mostStale(): number {
      const { workspaces, http } = context.config;
      return Math.floor((workspaces.length * http.readyWhenStalePercent) / 100);
    },
    /** Since when a job of the workspace has waited for its place; null when none does, and while Redis is away. */
    waitingSince: waitingWhileUp,
    async queueCounts(): Promise<Readonly<Record<string, QueueCounts>>> {
      return { sync: await queueSystem.counts() };
    },
    openAlerts() {
      const counts = countAlerts(connection);
      return SEVERITIES.map((severity) => ({
        severity,
        count: sumOpen(counts.filter((each) => each.severity === severity)),
      }));
    },
    outbox: () => outboxCounts(connection),
    runs: tally.counts,
    onRun: tally.onRun,
    publishing,
  };
}

/** With less than this on the disk, nothing is begun. */
export const MIN_FREE_BYTES = 10 * 1024 * 1024;

/**
 * Why the ledger at `path` cannot be written, in words, or null when it can: the file and its folder must be open to
 * this user, because SQLite writes its log beside the file, and the disk must have more than `minFreeBytes` left.
 */
export function ledgerFault(path: string, minFreeBytes = MIN_FREE_BYTES): string | null {
  const folder = dirname(path);
  try {
    accessSync(path, constants.W_OK);
    accessSync(folder, constants.W_OK);
    const freeBytes = freeBytesAt(folder);
    return freeBytes > minFreeBytes ? null : `only ${freeBytes} bytes are free in ${folder}`;
  } catch (error) {
    return summarizeError(error).message;
  }
}
