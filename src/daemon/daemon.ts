import { isDeepStrictEqual } from 'node:util';
import { channelUrl } from '../alerts/channels/outbound/channel-url.ts';
import { postJson } from '../alerts/channels/outbound/post-json.ts';
import type { StaleCheck } from '../alerts/evaluate/evaluate-self.ts';
import type { HeartbeatConfig } from '../config/channel-types.ts';
import type { Config } from '../config/types.ts';
import { isoTime, type WallClock } from '../core/clock.ts';
import { summarizeError } from '../core/errors.ts';
import type { ProxySettings } from '../core/net/proxy-options.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import { Releasers } from '../core/process/releasers.ts';
import { ageMs } from '../core/stored-time.ts';
import { cardsInConfig, changeOfCards } from '../ledger/journal/charges/card-store.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import { type Scheduler, startScheduler } from '../queue/scheduler.ts';
import type { SyncQueue } from '../queue/sync-queue.ts';
import type { StartTicks } from '../queue/ticks.ts';
import type { Context } from '../wiring/context.ts';
import { createDaemonEvents, Deliveries } from './deliveries.ts';
import type { UnwrittenFault } from './disk-watch.ts';
import { createHealthProbe, type HealthProbe } from './http/probe.ts';
import { readiness } from './http/readiness.ts';
import { createSyncHandler, JobWaits } from './job-handlers.ts';
import { bullmqOpener, type OpenQueue } from './open-queue.ts';
import type { PublishWatch } from './publish-watch.ts';
import { createSlotHistory, schedulesOf, type WorkspaceSchedule } from './schedules.ts';
import { startFileSchedules, startUpkeep, startWatchOfClock, startWatchOfDisk } from './upkeep.ts';

/**
 * A stop waits so long for running jobs and then cuts them off: a run that is cut off applies nothing, and the next daemon
 * begins it anew. All waits together lie below pm2's kill_timeout.
 */
const JOBS_TIMES = { graceMs: 2_000, deadlineMs: 12_000 };
/** Then a stop waits so long for deliveries: the next daemon sends again what a receiver has not answered. */
const DELIVERIES_TIMES = { graceMs: 1_000, deadlineMs: 2_000 };

export interface DaemonOverrides {
  openQueue?: OpenQueue;
  /** Calls at the times of a cron expression; false: the scheduler only polls for what is due. */
  ticks?: StartTicks | false;
  freeBytes?: () => number;
  /** The fault that kept it from starting before, and was sent without the ledger. */
  unwritten?: UnwrittenFault | null;
}

export interface Daemon {
  readonly queue: SyncQueue;
  readonly probe: HealthProbe;
  /** Takes up another configuration; runs under way go on. One reload at a time. */
  reload(config: Config): Promise<void>;
  notified(): void;
  stop(): Promise<void>;
}

/** Releases parts that take work in; then, when the work is done, the parts that it needs. */
interface Ends {
  intake: Releasers;
  rest: Releasers;
}

/**
 * Starts everything that runs by itself: the ledger's writer, Redis (a private one when none is configured), workers,
 * the deliveries and the ticks. Resolves once ticks are enqueued and jobs are taken. Closing the context is left to
 * the caller.
 */
export async function startDaemon(context: Context, overrides: DaemonOverrides = {}): Promise<Daemon> {
  const ends: Ends = { intake: new Releasers(), rest: new Releasers() };
  try {
    const { queue, probe, deliveries, reload, notified } = await startParts(context, overrides, ends);
    logStarted(context, queue);
    const stop = async (): Promise<void> => {
      await release(ends, async () => {
        await queue.stop(JOBS_TIMES);
        // Messages of the last runs are sent before deliveries end.
        await deliveries.stop(DELIVERIES_TIMES);
      });
    };
    return { queue, probe, reload, notified, stop };
  } catch (error) {
    await release(ends);
    throw error;
  }
}

/** A daemon whose Redis refuses commands has started, sends messages and serves pages, but is not ready. */
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

async function release({ intake, rest }: Ends, drain?: () => Promise<void>): Promise<void> {
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
  { intake, rest }: Ends,
): Promise<Omit<Daemon, 'stop'> & { deliveries: Deliveries }> {
  const openQueue = overrides.openQueue ?? bullmqOpener(context, rest);
  await Promise.all([context.warm(), context.warmDelivery()]);
  await context.evaluateAll();
  await context.reportJobHealth({ job: 'configuration', detail: null });
  await applyConfiguredRates(context);
  const { connection } = context.reader();
  const events = createDaemonEvents();
  const notified = (): void => void events.emit('notified');
  await startUpkeep(context, rest);
  const queue = await openQueue({ ledgerId: ledgerId(connection), concurrency: context.config.workers });
  rest.push(async () => void (await queue.stop(JOBS_TIMES)));
  const publishing = new RemadePart(
    ({ publish }) => publish,
    () => startPublishing(context, notified),
  );
  rest.push(() => publishing.stop());
  const outlets = new RemadePart(
    ({ outlets, proxy }) => ({ outlets, proxy }),
    () => startSendingOn(context, notified),
  );
  intake.push(() => outlets.stop());
  const waits = new JobWaits(context.clock);
  const scheduling = new RemadePart(
    (config) => config,
    async () => startSchedules(context, queue, { waits, ticks: overrides.ticks }),
  );
  intake.push(() => scheduling.stop());
  const waitingSince = waits.since.bind(waits);
  const probe = createHealthProbe(context, queue, waitingSince, () => publishing.part?.health() ?? null);
  const watch = startStaleWatch({
    stale: () => staleChecks(probe, context.clock),
    raise: (stale) => context.raiseStale(stale),
    notified,
    clock: context.clock,
    logger: context.logger,
  });
  intake.push(() => watch.stop());
  const beating = new RemadePart(
    ({ heartbeats, proxy }) => ({ heartbeats, proxy }),
    async () => startHeartbeats(context, probe),
  );
  intake.push(() => beating.stop());
  await publishing.follow(context.config);
  await outlets.follow(context.config);
  await scheduling.follow(context.config);
  await beating.follow(context.config);
  if (context.config.http.port !== 0) {
    // Loaded only here: the pages take longer to load than all that other commands need.
    const { startDaemonHttp } = await import('./http/server.ts');
    const http = await startDaemonHttp(context, probe, queue);
    intake.push(() => http.close());
  }
  const deliveries = new Deliveries(context);
  events.on('notified', () => void deliveries.sweep());
  rest.push(() => deliveries.stop(DELIVERIES_TIMES));
  const onBegin = (workspaceId: string): void => waits.begun(workspaceId);
  const postpone: Scheduler['postpone'] = (key, delayMs) => scheduling.part?.postpone(key, delayMs);
  queue.start(createSyncHandler(context, { notified, onBegin, postpone }));
  const files = new RemadePart(
    ({ backup, exports, focus, workspaces }) => ({ backup, exports, focus, ids: workspaces.map(({ id }) => id) }),
    async () => startFileSchedules(context, events),
  );
  intake.push(() => files.stop());
  await files.follow(context.config);
  startWatchOfClock(context, events, intake);
  startWatchOfDisk(context, events, intake, overrides);
  const reload = async (config: Config): Promise<void> => {
    await context.reconfigure(config);
    await applyConfiguredRates(context);
    for (const part of [publishing, outlets, scheduling, beating, files]) await part.follow(config);
    notified();
  };
  return { queue, probe, deliveries, reload, notified };
}

class RemadePart<Part extends { stop(): Promise<void> }> {
  readonly #of: (config: Config) => unknown;
  readonly #start: () => Promise<Part | null>;
  #madeOf: unknown;
  #stopped = false;
  part: Part | null = null;

  constructor(of: (config: Config) => unknown, start: () => Promise<Part | null>) {
    this.#of = of;
    this.#start = start;
  }

  async follow(config: Config): Promise<void> {
    const madeOf = this.#of(config);
    if (this.#stopped || (this.part !== null && isDeepStrictEqual(this.#madeOf, madeOf))) return;
    await this.part?.stop();
    // If it does not start, the next reload tries again.
    this.part = null;
    this.part = await this.#start();
    this.#madeOf = madeOf;
    if (this.#stopped) await this.part?.stop();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.part?.stop();
  }
}

/** Loads the code for Postgres only where `publish:` is set. */
async function startPublishing(context: Context, notified: () => void): Promise<PublishWatch | null> {
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
    tell: async (detail) => {
      if ((await context.reportJobHealth({ job: 'replica', detail })) > 0) notified();
    },
  });
}

/** Nothing of the billing systems is loaded where usage goes to none. */
async function startSendingOn(context: Context, notified: () => void): Promise<{ stop(): Promise<void> } | null> {
  if (context.config.outlets.length === 0) return null;
  return (await import('./outlet-watch.ts')).startOutlets(context, notified);
}

function startSchedules(
  context: Context,
  queue: SyncQueue,
  { waits, ticks }: { waits: JobWaits; ticks: DaemonOverrides['ticks'] },
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
 * Puts the rate cards of the configuration into force when they differ from those in force. If that fails, the cards before
 * them stay, and usage is recorded all the same.
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
    const priced = periods.map(({ workspaceId, period }) => `${period} of ${workspaceId}`);
    logger.info(
      { added, retired, priced },
      'the rate cards of the configuration are in force; open periods are priced anew',
    );
  } catch (error) {
    const { code, message: reason } = summarizeError(error);
    if (code !== 'unclear_cards') throw error;
    logger.error(
      { reason, hint: '`usage-ledger rates check` prices the history by them' },
      'the rate cards of the configuration are not put into force',
    );
  }
}

function startHeartbeats({ config, clock, logger }: Context, probe: HealthProbe): { stop(): Promise<void> } {
  const isWell = (): boolean => readiness(probe).status === 'ready';
  const { proxy } = config;
  const beating = config.heartbeats.map((heartbeat) => startHeartbeat({ heartbeat, proxy, isWell, clock, logger }));
  return { stop: async () => void (await Promise.all(beating.map((task) => task.stop()))) };
}

interface HeartbeatOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  heartbeat: HeartbeatConfig;
  proxy: ProxySettings | null;
  isWell(): boolean;
}

/** Tells a watcher elsewhere at intervals that all is well: its silence there is the alarm. */
export function startHeartbeat({ heartbeat, proxy, isWell, clock, logger }: HeartbeatOptions): PeriodicTask {
  const { name, allowPrivate, timeoutMs, everyMs, ca } = heartbeat;
  const url = channelUrl(heartbeat);
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: everyMs,
    atOnce: true,
    failed: 'heartbeat not sent',
    async work(signal) {
      if (!isWell()) return;
      const body = JSON.stringify({ status: 'ok', at: isoTime(clock.now()) });
      const post = { url, headers: {}, body, policy: { allowPrivate }, timeoutMs, ca, proxy, clock, signal };
      const result = await postJson(post);
      if ('reason' in result) logger.warn({ channel: name, reason: result.reason }, 'heartbeat not taken');
    },
  });
}

const CHECK_INTERVAL_MS = 60_000;

interface StaleWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  stale(): StaleCheck[];
  raise(workspaces: StaleCheck[]): Promise<number>;
  notified(): void;
}

/**
 * Looks every minute for workspaces without a complete run, since no run can report that none comes. An alert needs two looks:
 * a process that was suspended finds all workspaces stale when it wakes, and then reads them at once.
 */
export function startStaleWatch({ stale, raise, notified, clock, logger }: StaleWatchOptions): PeriodicTask {
  let before = new Set<string>();
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: CHECK_INTERVAL_MS,
    failed: 'stale workspaces could not be looked for',
    async work() {
      const found = stale();
      const workspaces = found.filter(({ workspaceId }) => before.has(workspaceId));
      before = new Set(found.map(({ workspaceId }) => workspaceId));
      if (workspaces.length > 0 && (await raise(workspaces)) > 0) notified();
    },
  });
}
