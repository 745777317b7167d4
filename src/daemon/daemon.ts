import { dirname, join } from 'node:path';
import type { StaleCheck } from '../alerts/evaluate/evaluate-self.ts';
import { waitingNotifications } from '../alerts/outbox/outbox.ts';
import type { WallClock } from '../core/clock.ts';
import { Releasers } from '../core/process/releasers.ts';
import { ageMs } from '../core/stored-time.ts';
import { closesInForce } from '../ledger/journal/close/closes-in-force.ts';
import { queueId, queueInUse } from '../ledger/store/schema/identity.ts';
import { openQueueSystem, type QueueSystem } from '../queue/queues.ts';
import type { RedisTarget } from '../queue/redis/connection.ts';
import { startPrivateRedis } from '../queue/redis/private-redis.ts';
import { type Scheduler, startScheduler } from '../queue/scheduler.ts';
import type { Context } from '../wiring/context.ts';
import { startBackupSchedule } from './backup/backup-schedule.ts';
import { type Deliveries, startDeliveries } from './deliveries.ts';
import { startExportSchedule } from './exports/export-schedule.ts';
import { createHealthProbe, type HealthProbe } from './http/probe.ts';
import { createHandlers } from './job-handlers.ts';
import { JobWaits } from './job-waits.ts';
import type { ReplicaParts } from './replica/start-replica.ts';
import { startRetention } from './retention.ts';
import { schedulesOf, type WorkspaceSchedule } from './schedules.ts';
import { createSlotHistory } from './slot-history.ts';
import { startStaleWatch } from './stale-watch.ts';
import { startWalWatch } from './wal-watch.ts';

/** Running jobs have this long to end after a stop was asked for; below pm2's kill_timeout with room for the rest. */
const JOBS_DEADLINE_MS = 14_000;
/** After this they are cut off: a run that goes on for longer publishes nothing and is begun anew by the next daemon. */
const JOBS_GRACE_MS = 2_000;
/** Then deliveries under way have this long: a receiver that hangs gets the notification anew from the next daemon. */
const DELIVERIES_TIMES = { graceMs: 1_000, deadlineMs: 2_000 };

export interface Daemon {
  readonly queue: QueueSystem;
  /** Stops taking work, lets what runs end, and lets go of everything. May be called twice. */
  stop(): Promise<void>;
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
    if (queueInUse(connection) !== queueId(connection))
      await (await context.writer()).call('forgetQueueInUse', undefined);
    const target = await openRedis(context, releasers);
    const waits = new JobWaits();
    let deliveries: Deliveries | null = null;
    let scheduler: Scheduler | null = null;
    const sweep = () => deliveries?.sweep() ?? Promise.resolve();
    const replica = await openReplica(context, { afterTell: sweep });
    if (replica !== null) releasers.push(() => replica.watch.stop());
    const queue: QueueSystem = await openQueueSystem({
      ledgerId: queueId(connection),
      target,
      logger,
      settings: { syncConcurrency: config.workers },
      handlers: createHandlers(context, {
        afterRun: sweep,
        postpone: (key, delayMs) => scheduler?.postpone(key, delayMs),
        onBegin: (workspaceId) => waits.begun(workspaceId),
      }),
    });
    context.shareRates((host, wanted, perSecond) => queue.takeTurns(host, wanted, perSecond));
    // What the last runs have to tell is sent before the deliveries end.
    releasers.push(() => deliveries?.stop(DELIVERIES_TIMES));
    releasers.push(async () => {
      await queue.stop({ deadlineMs: JOBS_DEADLINE_MS, graceMs: JOBS_GRACE_MS });
    });
    scheduler = startScheduler<WorkspaceSchedule>({
      entries: schedulesOf(config),
      enqueue: async ({ workspaceId, kind }, due) => {
        const answer = await queue.addSync({ workspaceId, kind, ...due });
        if (answer === 'added') waits.enqueued(workspaceId, clock.now() + due.delayMs);
      },
      history: createSlotHistory(connection, clock),
      onRedisBack: (listener) => queue.onRedisBack(listener),
      clock,
      logger,
    });
    releasers.push(() => scheduler?.stop());
    const probe = createHealthProbe({
      reader: context.reader(),
      config,
      clock,
      queueSystem: queue,
      waitingSince: (workspaceId, lastAttemptAtMs) => waits.since(workspaceId, lastAttemptAtMs),
      writerFault: () => context.writerFault,
      ...(replica === null ? {} : { replica: () => replica.watch.health() }),
    });
    const watch = startStaleWatch({
      stale: () => staleChecks(probe, clock),
      raise: (workspaces) => context.raiseStale(workspaces),
      afterRaise: sweep,
      clock,
      logger,
    });
    releasers.push(() => watch.stop());
    const writer = await context.writer();
    const checkpoint = () => writer.call('truncateLog', undefined);
    const walWatch = startWalWatch({ ledgerPath: config.ledger.path, checkpoint, clock, logger });
    releasers.push(() => walWatch.stop());
    const retention = startRetention({
      prune: (beforeMs) => writer.call('prune', { beforeMs }),
      retentionDays: config.ledger.retentionDays,
      clock,
      logger,
    });
    releasers.push(() => retention.stop());
    if (config.http.port !== 0) {
      // Loaded here only: the pages take longer to load than everything that the other commands need.
      const { startDaemonHttp } = await import('./http/start-daemon-http.ts');
      const http = await startDaemonHttp(context, probe, queue);
      releasers.push(() => http.close());
    }
    // A copy of the ledger that is out must hear of it before it sends anything.
    await replica?.watch.begin();
    deliveries = startDeliveries({
      composeDigests: () => context.composeDigests(),
      waiting: (limit) => waitingNotifications(connection, limit),
      deliver: (notificationId, signal) => context.deliver(notificationId, signal),
      mayDeliver: (notificationId) => replica?.mayDeliver(notificationId) ?? true,
      clock,
      logger,
    });
    queue.start();
    if (config.backup !== null) {
      const backups = startBackupSchedule({ ledgerPath: config.ledger.path, backup: config.backup, clock, logger });
      releasers.push(() => backups.stop());
    }
    if (config.exports.length > 0) {
      const closesAfter = (eventSeq: number) => closesInForce(connection, eventSeq);
      const tell = async (detail: string | null): Promise<void> => {
        if ((await context.tellOfLedger({ rule: 'export_failed', detail })) > 0) await sweep();
      };
      const exports = startExportSchedule({ config, closesAfter, tell, clock, logger });
      releasers.push(() => exports.stop());
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

/** Nothing of the replica is loaded where there is none. */
async function openReplica(context: Context, calls: { afterTell(): Promise<void> }): Promise<ReplicaParts | null> {
  const { publish } = context.config;
  if (publish === null) return null;
  const { startReplica } = await import('./replica/start-replica.ts');
  return startReplica(context, publish, calls);
}

function staleChecks(probe: HealthProbe, clock: WallClock): StaleCheck[] {
  return probe
    .freshness()
    .filter(({ stale }) => stale)
    .map(({ workspaceId, lastCompleteRunAtMs, staleAfterMs }) => {
      const sinceMs = ageMs(lastCompleteRunAtMs, clock.now()) ?? staleAfterMs + 1;
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
