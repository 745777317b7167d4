import type { Config } from '../config/types.ts';
import { Releasers } from '../core/process/releasers.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import type { Scheduler } from '../queue/scheduler.ts';
import type { SyncQueue } from '../queue/sync-queue.ts';
import type { StartTicks } from '../queue/ticks.ts';
import type { Context } from '../wiring/context.ts';
import { applyConfiguredRates } from './configured-rates.ts';
import { createDaemonEvents, Deliveries } from './deliveries.ts';
import { createHealthProbe, type HealthProbe } from './http/probe.ts';
import { createSyncHandler, QueuedJobs } from './job-handlers.ts';
import { withManualRuns } from './manual-runs.ts';
import { bullmqOpener, type OpenQueue } from './open-queue.ts';
import { Reloadable } from './reloadable.ts';
import { startSchedules } from './start-schedules.ts';
import { type Stoppable, stopAll } from './stoppable.ts';
import type { UnrecordedFault } from './watches/disk-watch.ts';
import { startHeartbeats } from './watches/heartbeats.ts';
import {
  startBackupsAndExports,
  startContextStaleWatch,
  startForwarding,
  startLedgerClockWatch,
  startLedgerDiskWatch,
  startPublishing,
  startUpkeep,
} from './watches/start-watches.ts';

/**
 * Time that a stop gives running jobs before it aborts them. An aborted run applies nothing, and the next daemon
 * repeats the run. All waits of a stop together must be shorter than pm2's kill_timeout: the stages `intake` and `rest`
 * have two seconds each.
 */
const JOBS_TIMES = { graceMs: 2_000, deadlineMs: 12_000 };
/** Time that a stop then gives running deliveries. The next daemon repeats a delivery that no receiver has answered. */
const DELIVERIES_TIMES = { graceMs: 1_000, deadlineMs: 2_000 };

export interface DaemonOverrides {
  openQueue?: OpenQueue;
  /** The timer for cron expressions; false if the scheduler only polls for due slots. */
  ticks?: StartTicks | false;
  freeBytes?: () => number;
  /** A disk fault that delayed the start and was reported by emergency notifications, without the ledger. */
  unrecorded?: UnrecordedFault | null;
}

export interface Daemon {
  readonly queue: SyncQueue;
  readonly probe: HealthProbe;
  /** Applies another configuration; running syncs continue. Must not be called while another reload runs. */
  reload(config: Config): Promise<void>;
  /** Makes the daemon send due notifications soon. */
  wakeDeliveries(): void;
  stop(): Promise<void>;
}

/** The stages of a stop, in order: parts that accept work, running work, parts that running work uses. */
interface Shutdown {
  /** Parts that accept work. They are stopped first, all at the same time. */
  intake: Stoppable[];
  /** What running work uses. It is released last, in reverse order of its creation. */
  rest: Releasers;
}

/**
 * Starts the daemon: the ledger's writer, Redis (a private one unless one is configured), workers, deliveries and
 * schedules. Resolves once slots are enqueued and jobs are processed. The caller closes the context.
 */
export async function startDaemon(context: Context, overrides: DaemonOverrides = {}): Promise<Daemon> {
  const shutdown: Shutdown = { intake: [], rest: new Releasers() };
  try {
    const { deliveries, ...daemon } = await startParts(context, overrides, shutdown);
    logStarted(context, daemon.queue);
    const drain = async (): Promise<void> => {
      await daemon.queue.stop(JOBS_TIMES);
      // Deliveries stop last, so that messages of the last runs are still sent.
      await deliveries.stop(DELIVERIES_TIMES);
    };
    return { ...daemon, stop: () => release(shutdown, drain) };
  } catch (error) {
    await release(shutdown);
    throw error;
  }
}

async function release({ intake, rest }: Shutdown, drain?: () => Promise<void>): Promise<void> {
  try {
    await stopAll(intake);
    await drain?.();
  } finally {
    await rest.release();
  }
}

type StartedParts = Omit<Daemon, 'stop'> & { deliveries: Deliveries };

async function startParts(
  context: Context,
  overrides: DaemonOverrides,
  { intake, rest }: Shutdown,
): Promise<StartedParts> {
  const { config } = context;
  const events = createDaemonEvents();
  const wakeDeliveries = (): void => void events.emit('notificationsDue');

  // 1. The ledger: its writer, its alerts and rates, and the jobs that keep its file small.
  const openQueue = overrides.openQueue ?? bullmqOpener(context, rest);
  await Promise.all([context.warm(), context.warmDelivery()]);
  await context.evaluateAll();
  await context.reportJobHealth({ job: 'configuration', detail: null });
  await applyConfiguredRates(context);
  const late: Stoppable[] = [await startUpkeep(context)];
  rest.push(() => stopAll(late));

  // 2. The queue.
  const queue = await openQueue({ ledgerId: ledgerId(context.reader().connection), concurrency: config.workers });
  rest.push(async () => void (await queue.stop(JOBS_TIMES)));
  const waits = new QueuedJobs(context.clock);

  // 3. The parts that a reload may restart, in the order of their start.
  const publishing = new Reloadable(
    ({ publish }) => publish,
    () => startPublishing(context, wakeDeliveries),
  );
  const outlets = new Reloadable(
    ({ outlets, proxy }) => ({ outlets, proxy }),
    () => startForwarding(context, wakeDeliveries),
  );
  const scheduling = new Reloadable(
    (config) => config,
    async () => startSchedules(context, queue, { waits, ticks: overrides.ticks }),
  );
  const waitingSince = waits.since.bind(waits);
  const probe = createHealthProbe(context, queue, waitingSince, () => publishing.part?.health() ?? null);
  const heartbeats = new Reloadable(
    ({ heartbeats, proxy }) => ({ heartbeats, proxy }),
    async () => startHeartbeats(context, probe),
  );
  const files = new Reloadable(
    ({ backup, exports, focus, workspaces }) => ({ backup, exports, focus, ids: workspaces.map(({ id }) => id) }),
    async () => startBackupsAndExports(context, wakeDeliveries),
  );
  late.push(publishing);
  intake.push(outlets, scheduling, heartbeats, files);
  for (const part of [publishing, outlets, scheduling, heartbeats]) await part.apply(config);

  // 4. Pages, deliveries, and the workers of the queue.
  if (config.http.port !== 0) {
    // Loaded here, because the code of the pages takes longer to load than everything that other commands need.
    const { startDaemonHttp } = await import('./http/server.ts');
    const exportStatuses = () => files.part?.exportStatuses() ?? [];
    const http = await startDaemonHttp(context, { probe, queue, exportStatuses });
    intake.push({ stop: () => http.close() });
  }
  const deliveries = new Deliveries(context);
  events.on('notificationsDue', () => void deliveries.sendDue());
  rest.push(() => deliveries.stop(DELIVERIES_TIMES));
  const onStart = (workspaceId: string): void => waits.started(workspaceId);
  const postpone: Scheduler['postpone'] = (key, delayMs) => scheduling.part?.postpone(key, delayMs);
  const handleSlot = createSyncHandler(context, { wakeDeliveries, onStart, postpone });
  queue.start(withManualRuns(context, { wakeDeliveries, onStart }, handleSlot));

  // 5. Files, and the watches.
  await files.apply(config);
  intake.push(
    startContextStaleWatch(context, probe, wakeDeliveries),
    startLedgerClockWatch(context, wakeDeliveries),
    startLedgerDiskWatch(context, wakeDeliveries, overrides),
  );

  const reload = async (next: Config): Promise<void> => {
    await context.reconfigure(next);
    await applyConfiguredRates(context);
    for (const part of [publishing, outlets, scheduling, heartbeats, files]) await part.apply(next);
    wakeDeliveries();
  };
  return { queue, probe, deliveries, reload, wakeDeliveries };
}

/**
 * Logs whether the daemon is ready. While Redis refuses commands, the daemon sends notifications and serves pages, but
 * is not ready.
 */
function logStarted({ config, logger, version }: Context, queue: SyncQueue): void {
  const fields = { version, workspaces: config.workspaces.length, ledger: config.ledger.path };
  const { redisFault } = queue;
  if (redisFault === null) {
    logger.info(fields, 'ready');
    return;
  }
  const reason = `Redis is not available: ${redisFault.reason}`;
  logger.warn({ ...fields, reason, hint: redisFault.hint }, 'started, not ready: syncs wait for Redis');
  const unsubscribe = queue.onRedisBack(() => {
    unsubscribe();
    logger.info(fields, 'ready');
  });
}
