import { dirname, join } from 'node:path';
import type { StaleCheck } from '../alerts/evaluate/evaluate-self.ts';
import { pendingNotifications } from '../alerts/outbox/outbox.ts';
import { type Clock, isoTime } from '../core/clock.ts';
import { summarizeError } from '../core/errors.ts';
import { Releasers } from '../core/releasers.ts';
import { hasPublished } from '../ledger/runs/published.ts';
import { latestSlot, ledgerId } from '../ledger/schema/identity.ts';
import type { RedisTarget } from '../queue/connection.ts';
import type { JobHandlers } from '../queue/jobs.ts';
import { startPrivateRedis } from '../queue/private-redis.ts';
import { openQueueSystem, type QueueSystem } from '../queue/queues.ts';
import { startScheduler } from '../queue/scheduler.ts';
import type { Context } from '../wiring/context.ts';
import { startBackupSchedule } from './backup/backup-schedule.ts';
import { createHealthProbe, type HealthProbe } from './http/probe.ts';
import { type OutboxSweep, startOutboxSweep } from './outbox-sweep.ts';
import { startStaleWatch } from './stale-watch.ts';

/** Running jobs have this long to end after a stop was asked for; below pm2's kill_timeout with room for the rest. */
const JOBS_DEADLINE_MS = 14_000;
/** Waiting notifications that one sweep enqueues. */
const SWEEP_LIMIT = 1000;

export interface Daemon {
  readonly queue: QueueSystem;
  /** Stops taking work, lets what runs end, and lets go of everything. May be called twice. */
  stop(): Promise<void>;
}

/** A cron expression of a workspace and what it stands for. */
interface WorkspaceSchedule {
  key: string;
  cron: string;
  workspaceId: string;
  kind: 'scheduled' | 'reconcile';
}

/**
 * Starts everything that runs by itself: the ledger's writer, Redis (a private one when none is configured), workers,
 * the outbox sweep and the ticks. Resolves once ticks are enqueued and jobs are taken. Closing the context is left to
 * the caller.
 */
export async function startDaemon(context: Context): Promise<Daemon> {
  const { config, clock, logger } = context;
  const releasers = new Releasers();
  try {
    await context.warm();
    const { connection } = context.reader();
    const target = await openRedis(context, releasers);
    let sweep: OutboxSweep | null = null;
    const queue: QueueSystem = await openQueueSystem({
      ledgerId: ledgerId(connection),
      target,
      logger,
      handlers: createHandlers(context, () => sweep?.sweep() ?? Promise.resolve()),
    });
    releasers.push(async () => {
      await queue.stop({ deadlineMs: JOBS_DEADLINE_MS });
    });
    sweep = startOutboxSweep({
      composeDigests: () => context.composeDigests(),
      pending: () => pendingNotifications(connection, SWEEP_LIMIT),
      addDelivery: (delivery) => queue.addDelivery(delivery),
      onRedisBack: (listener) => queue.onRedisBack(listener),
      clock,
      logger,
    });
    releasers.push(() => sweep?.stop());
    const scheduler = startScheduler<WorkspaceSchedule>({
      entries: schedulesOf(context),
      enqueue: ({ workspaceId, kind }, slot) => queue.addSync({ workspaceId, kind, slot }),
      lastSlot: ({ workspaceId, kind }) => {
        // The first run of a workspace reads the whole history anyway: no reconciliation is owed before it.
        if (kind === 'reconcile' && !hasPublished(connection, workspaceId)) return isoTime(clock.now());
        return latestSlot(connection, workspaceId, kind);
      },
      onRedisBack: (listener) => queue.onRedisBack(listener),
      clock,
      logger,
    });
    releasers.push(() => scheduler.stop());
    const probe = createHealthProbe({ reader: context.reader(), config, clock, queueSystem: queue });
    const watch = startStaleWatch({
      stale: () => staleChecks(probe, clock),
      raise: (workspaces) => context.raiseStale(workspaces),
      afterRaise: () => sweep?.sweep() ?? Promise.resolve(),
      logger,
    });
    releasers.push(() => watch.stop());
    if (config.http.port !== 0) {
      // Loaded here only: the pages take longer to load than everything that the other commands need.
      const { startHttp } = await import('./http/server.ts');
      const options = { ...config.http, logger, version: context.version, probe, queues: queue.queues };
      const http = await startHttp(options);
      releasers.push(() => http.close());
      logger.info({ url: http.url }, 'health, metrics and queue pages are served');
    }
    queue.start();
    if (config.backup !== null) {
      const backups = startBackupSchedule({ ledgerPath: config.ledger.path, backup: config.backup, clock, logger });
      releasers.push(() => backups.stop());
    }
    logger.info(
      { version: context.version, workspaces: config.workspaces.length, ledger: config.ledger.path },
      'ready',
    );
    return { queue, stop: () => releasers.release() };
  } catch (error) {
    await releasers.release();
    throw error;
  }
}

function staleChecks(probe: HealthProbe, clock: Clock): StaleCheck[] {
  return probe
    .freshness()
    .filter(({ stale }) => stale)
    .map(({ workspaceId, lastCompleteRunAtMs, staleAfterMs }) => {
      const sinceMs = lastCompleteRunAtMs === null ? staleAfterMs + 1 : clock.now() - lastCompleteRunAtMs;
      return { workspaceId, sinceMs, staleAfterMs };
    });
}

async function openRedis(context: Context, releasers: Releasers): Promise<RedisTarget> {
  const { config, logger } = context;
  if (config.redisUrl !== null) return { kind: 'url', url: config.redisUrl };
  const redis = await startPrivateRedis({ dir: privateRedisFolder(config.ledger.path), logger });
  releasers.push(() => redis.close());
  return redis.target;
}

/** Where the private redis-server of a ledger keeps its files. */
export function privateRedisFolder(ledgerPath: string): string {
  return join(dirname(ledgerPath), 'redis');
}

function schedulesOf(context: Context): WorkspaceSchedule[] {
  return context.config.workspaces.flatMap(({ id, cron, reconcileCron }) => [
    { key: `${id} scheduled`, cron, workspaceId: id, kind: 'scheduled' as const },
    { key: `${id} reconcile`, cron: reconcileCron, workspaceId: id, kind: 'reconcile' as const },
  ]);
}

/** What the queues' jobs do. `afterRun` looks after the notifications that a run has left in the outbox. */
function createHandlers(context: Context, afterRun: () => Promise<void>): JobHandlers {
  const { logger } = context;
  return {
    async sync({ workspaceId, kind, slot }, job) {
      try {
        const outcome = await context.sync({
          workspaceId,
          kind,
          slot,
          signal: job.signal,
          onProgress: (progress) => {
            if (progress.pages % 100 === 0) job.progress(progress);
          },
        });
        if (outcome.status === 'already_done') {
          logger.info({ workspaceId, slot, runId: outcome.runId }, 'slot was done already');
          return { status: outcome.status, runId: outcome.runId };
        }
        const { status, runId, records, entries, walks } = outcome;
        const alerts = outcome.alerts.changes.length;
        logger.info({ workspaceId, kind, slot, runId, records, entries, walks, alerts }, 'run applied');
        if (outcome.alerts.notificationIds.length > 0) await afterRun();
        return { status, runId, records, entries, alerts };
      } catch (error) {
        const { code, message, retryable, hint } = summarizeError(error);
        const { attempt, lastAttempt } = job;
        const text = retryable && !lastAttempt ? 'run failed, it will be tried again' : 'run failed';
        const stack = code === 'internal' && error instanceof Error ? error.stack : undefined;
        logger.error({ workspaceId, kind, slot, attempt, code, reason: message, hint, stack }, text);
        await afterRun();
        throw error;
      }
    },
    async deliver({ notificationId }, job) {
      const outcome = await context.deliver(notificationId, job.signal);
      if (outcome.state === 'pending') {
        logger.warn({ notificationId, ...outcome }, 'notification not delivered, it will be tried again');
        await afterRun();
      } else if (outcome.state === 'dead') {
        logger.error({ notificationId, reason: outcome.reason }, 'notification given up');
        if (outcome.disabled !== undefined) await afterRun();
      } else {
        logger.info({ notificationId, state: outcome.state }, 'notification handled');
      }
      return outcome;
    },
  };
}
