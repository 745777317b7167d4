import { isDeepStrictEqual } from 'node:util';
import { channelUrl } from '../alerts/channels/channel-url.ts';
import { postJson } from '../alerts/channels/post-json.ts';
import type { StaleCheck } from '../alerts/evaluate-system.ts';
import type { HeartbeatConfig } from '../config/channel-types.ts';
import type { Config } from '../config/types.ts';
import { isoTime, type WallClock } from '../core/clock.ts';
import { summarizeError } from '../core/errors.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import { Releasers } from '../core/process/releasers.ts';
import { ageMs } from '../core/stored-time.ts';
import { cardsInConfig, changeOfCards } from '../ledger/journal/charges/card-store.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import type { ProxySettings } from '../net/proxy.ts';
import { type Scheduler, startScheduler } from '../queue/scheduler.ts';
import type { SyncQueue } from '../queue/sync-queue.ts';
import type { StartTicks } from '../queue/ticks.ts';
import type { Context } from '../wiring/context.ts';
import { createDaemonEvents, Deliveries } from './deliveries.ts';
import type { UnrecordedFault } from './disk-watch.ts';
import { createHealthProbe, type HealthProbe } from './http/probe.ts';
import { readiness } from './http/readiness.ts';
import { createSyncHandler, QueuedJobs } from './job-handlers.ts';
import { bullmqOpener, type OpenQueue } from './open-queue.ts';
import type { PublishWatch } from './publish-watch.ts';
import { createSlotHistory, schedulesOf, type WorkspaceSchedule } from './schedules.ts';
import { startBackupsAndExports, startLedgerClockWatch, startLedgerDiskWatch, startUpkeep } from './upkeep.ts';

/**
 * Time that a stop gives running jobs before it aborts them. An aborted run applies nothing; the next daemon repeats it.
 * All waits together stay below pm2's kill_timeout.
 */
const JOBS_TIMES = { graceMs: 2_000, deadlineMs: 12_000 };
/** Time that a stop then gives deliveries. The next daemon repeats those that no receiver answered. */
const DELIVERIES_TIMES = { graceMs: 1_000, deadlineMs: 2_000 };

export interface DaemonOverrides {
  openQueue?: OpenQueue;
  /** Timer for cron expressions; false: the scheduler only polls for due slots. */
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
  /** Sends due notifications soon. */
  wakeDeliveries(): void;
  stop(): Promise<void>;
}

/** The two stages of a shutdown: `intake` stops accepting work; after running work has ended, `rest` releases its resources. */
interface ShutdownStages {
  intake: Releasers;
  rest: Releasers;
}

/**
 * Starts the daemon: the ledger's writer, Redis (a private one unless one is configured), workers, deliveries and
 * schedules. Resolves once slots are enqueued and jobs are processed. The caller closes the context.
 */
export async function startDaemon(context: Context, overrides: DaemonOverrides = {}): Promise<Daemon> {
  const stages: ShutdownStages = { intake: new Releasers(), rest: new Releasers() };
  try {
    const { queue, probe, deliveries, reload, wakeDeliveries } = await startParts(context, overrides, stages);
    logStarted(context, queue);
    const stop = async (): Promise<void> => {
      await release(stages, async () => {
        await queue.stop(JOBS_TIMES);
        // Deliveries stop last, so that messages of the last runs are still sent.
        await deliveries.stop(DELIVERIES_TIMES);
      });
    };
    return { queue, probe, reload, wakeDeliveries, stop };
  } catch (error) {
    await release(stages);
    throw error;
  }
}

/** Logs whether the daemon is ready. While Redis refuses commands, it sends notifications and serves pages but is not ready. */
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

async function release({ intake, rest }: ShutdownStages, drain?: () => Promise<void>): Promise<void> {
  try {
    await intake.release();
    await drain?.();
  } finally {
    await rest.release();
  }
}

async function startParts(
  context: Context,
  overrides: DaemonOverrides,
  { intake, rest }: ShutdownStages,
): Promise<Omit<Daemon, 'stop'> & { deliveries: Deliveries }> {
  const openQueue = overrides.openQueue ?? bullmqOpener(context, rest);
  await Promise.all([context.warm(), context.warmDelivery()]);
  await context.evaluateAll();
  await context.reportJobHealth({ job: 'configuration', detail: null });
  await applyConfiguredRates(context);
  const { connection } = context.reader();
  const events = createDaemonEvents();
  const wakeDeliveries = (): void => void events.emit('notificationsDue');
  await startUpkeep(context, rest);
  const queue = await openQueue({ ledgerId: ledgerId(connection), concurrency: context.config.workers });
  rest.push(async () => void (await queue.stop(JOBS_TIMES)));
  const publishing = new Reloadable(
    ({ publish }) => publish,
    () => startPublishing(context, wakeDeliveries),
  );
  rest.push(() => publishing.stop());
  const outlets = new Reloadable(
    ({ outlets, proxy }) => ({ outlets, proxy }),
    () => startForwarding(context, wakeDeliveries),
  );
  intake.push(() => outlets.stop());
  const waits = new QueuedJobs(context.clock);
  const scheduling = new Reloadable(
    (config) => config,
    async () => startSchedules(context, queue, { waits, ticks: overrides.ticks }),
  );
  intake.push(() => scheduling.stop());
  const waitingSince = waits.since.bind(waits);
  const probe = createHealthProbe(context, queue, waitingSince, () => publishing.part?.health() ?? null);
  const watch = startStaleWatch({
    stale: () => staleChecks(probe, context.clock),
    raise: (stale) => context.raiseStale(stale),
    wakeDeliveries,
    clock: context.clock,
    logger: context.logger,
  });
  intake.push(() => watch.stop());
  const heartbeats = new Reloadable(
    ({ heartbeats, proxy }) => ({ heartbeats, proxy }),
    async () => startHeartbeats(context, probe),
  );
  intake.push(() => heartbeats.stop());
  await publishing.apply(context.config);
  await outlets.apply(context.config);
  await scheduling.apply(context.config);
  await heartbeats.apply(context.config);
  if (context.config.http.port !== 0) {
    // Loaded on demand: the pages take longer to load than everything that other commands need.
    const { startDaemonHttp } = await import('./http/server.ts');
    const http = await startDaemonHttp(context, probe, queue);
    intake.push(() => http.close());
  }
  const deliveries = new Deliveries(context);
  events.on('notificationsDue', () => void deliveries.sendDue());
  rest.push(() => deliveries.stop(DELIVERIES_TIMES));
  const onStart = (workspaceId: string): void => waits.started(workspaceId);
  const postpone: Scheduler['postpone'] = (key, delayMs) => scheduling.part?.postpone(key, delayMs);
  queue.start(createSyncHandler(context, { wakeDeliveries, onStart, postpone }));
  const files = new Reloadable(
    ({ backup, exports, focus, workspaces }) => ({ backup, exports, focus, ids: workspaces.map(({ id }) => id) }),
    async () => startBackupsAndExports(context, events),
  );
  intake.push(() => files.stop());
  await files.apply(context.config);
  startLedgerClockWatch(context, events, intake);
  startLedgerDiskWatch(context, events, intake, overrides);
  const reload = async (config: Config): Promise<void> => {
    await context.reconfigure(config);
    await applyConfiguredRates(context);
    for (const part of [publishing, outlets, scheduling, heartbeats, files]) await part.apply(config);
    wakeDeliveries();
  };
  return { queue, probe, deliveries, reload, wakeDeliveries };
}

/** A part of the daemon that is restarted when a reload changes the settings it depends on. */
class Reloadable<Part extends { stop(): Promise<void> }> {
  readonly #of: (config: Config) => unknown;
  readonly #start: () => Promise<Part | null>;
  #startedWith: unknown;
  #stopped = false;
  part: Part | null = null;

  constructor(of: (config: Config) => unknown, start: () => Promise<Part | null>) {
    this.#of = of;
    this.#start = start;
  }

  async apply(config: Config): Promise<void> {
    const startedWith = this.#of(config);
    if (this.#stopped || (this.part !== null && isDeepStrictEqual(this.#startedWith, startedWith))) return;
    await this.part?.stop();
    // Set first: if the start fails, the next reload tries again.
    this.part = null;
    this.part = await this.#start();
    this.#startedWith = startedWith;
    if (this.#stopped) await this.part?.stop();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.part?.stop();
  }
}

/** Starts publishing to Postgres; null without `publish:`. The Postgres client is loaded only when needed. */
async function startPublishing(context: Context, wakeDeliveries: () => void): Promise<PublishWatch | null> {
  const { clock, logger } = context;
  const { publish: target, ledger } = context.config;
  if (target === null) return null;
  const [{ PublishWatch }, { publishLedger }] = await Promise.all([
    import('./publish-watch.ts'),
    import('../publish/publish-ledger.ts'),
  ]);
  return new PublishWatch({
    clock,
    logger,
    connection: context.reader().connection,
    staleMs: target.staleMs,
    unreadyWhenStale: target.unreadyWhenStale,
    publish: (signal) => publishLedger({ target, ledgerPath: ledger.path, nowMs: clock.now(), signal }),
    reportHealth: async (detail) => {
      if ((await context.reportJobHealth({ job: 'replica', detail })) > 0) wakeDeliveries();
    },
  });
}

/** Starts forwarding to the outlets; null without any, so that their code is loaded only when needed. */
async function startForwarding(
  context: Context,
  wakeDeliveries: () => void,
): Promise<{ stop(): Promise<void> } | null> {
  if (context.config.outlets.length === 0) return null;
  return (await import('./outlet-watch.ts')).startOutlets(context, wakeDeliveries);
}

function startSchedules(
  context: Context,
  queue: SyncQueue,
  { waits, ticks }: { waits: QueuedJobs; ticks: DaemonOverrides['ticks'] },
): Scheduler {
  const { config, clock, logger } = context;
  return startScheduler<WorkspaceSchedule>({
    entries: schedulesOf(config),
    enqueue: async ({ workspaceId, kind }, due) => {
      const answer = await queue.addSync({ workspaceId, kind, ...due });
      if (answer === 'added') waits.enqueued(workspaceId, clock.now());
    },
    history: createSlotHistory(context.reader().connection, clock),
    onRedisBack: (listener) => queue.onRedisBack(listener),
    ...(ticks === undefined ? {} : { ticks }),
    clock,
    logger,
  });
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

/**
 * Activates the configured rate cards if they differ from the active ones. If the cards are ambiguous, the active ones
 * stay and usage is still recorded.
 */
export async function applyConfiguredRates(context: Context): Promise<void> {
  const { config, clock, logger } = context;
  const { rates, costs } = cardsInConfig(config);
  const { added, retired } = changeOfCards(context.reader().connection, { rates, costs });
  if (added.length + retired.length === 0) return;
  try {
    const writer = await context.writer();
    const { periods } = await writer.setCards({
      cards: rates,
      costs,
      source: 'configuration',
      nowMs: clock.now(),
    });
    const priced = periods.map(({ workspaceId, period }) => `${workspaceId}, ${period}`);
    logger.info({ added, retired, priced }, 'activated the configured rate cards and repriced open months');
  } catch (error) {
    const { code, message: reason } = summarizeError(error);
    if (code !== 'unclear_cards') throw error;
    logger.error(
      { reason, hint: 'run `usage-ledger rates check` to price the history with them' },
      'could not activate the configured rate cards, the previous ones stay active',
    );
  }
}

function startHeartbeats({ config, clock, logger }: Context, probe: HealthProbe): { stop(): Promise<void> } {
  const isReady = (): boolean => readiness(probe).status === 'ready';
  const { proxy } = config;
  const heartbeats = config.heartbeats.map((heartbeat) => startHeartbeat({ heartbeat, proxy, isReady, clock, logger }));
  return { stop: async () => void (await Promise.all(heartbeats.map((task) => task.stop()))) };
}

interface HeartbeatOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  heartbeat: HeartbeatConfig;
  proxy: ProxySettings | null;
  isReady(): boolean;
}

/** Posts to an external monitor at intervals while the daemon is ready; the monitor alerts when the posts stop. */
export function startHeartbeat({ heartbeat, proxy, isReady, clock, logger }: HeartbeatOptions): PeriodicTask {
  const { name, allowPrivate, timeoutMs, everyMs, ca } = heartbeat;
  const url = channelUrl(heartbeat);
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: everyMs,
    atOnce: true,
    failed: 'could not send a heartbeat',
    async work(signal) {
      if (!isReady()) return;
      const body = JSON.stringify({ status: 'ok', at: isoTime(clock.now()) });
      const post = { url, headers: {}, body, policy: { allowPrivate }, timeoutMs, ca, proxy, clock, signal };
      const result = await postJson(post);
      if ('reason' in result) logger.warn({ channel: name, reason: result.reason }, 'heartbeat rejected');
    },
  });
}

const STALE_CHECK_INTERVAL_MS = 60_000;

interface StaleWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  stale(): StaleCheck[];
  raise(workspaces: StaleCheck[]): Promise<number>;
  wakeDeliveries(): void;
}

/**
 * Checks every minute for workspaces without a recent complete run, because no run can report its own absence. A
 * workspace must be stale in two checks in a row: after a suspend of the machine all workspaces look stale until they are
 * read.
 */
export function startStaleWatch({ stale, raise, wakeDeliveries, clock, logger }: StaleWatchOptions): PeriodicTask {
  let before = new Set<string>();
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: STALE_CHECK_INTERVAL_MS,
    failed: 'could not check for stale workspaces',
    async work() {
      const found = stale();
      const workspaces = found.filter(({ workspaceId }) => before.has(workspaceId));
      before = new Set(found.map(({ workspaceId }) => workspaceId));
      if (workspaces.length > 0 && (await raise(workspaces)) > 0) wakeDeliveries();
    },
  });
}
