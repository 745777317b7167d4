import type { Dispatcher } from 'undici';
import type { Channel } from '../alerts/channels/channel.ts';
import { createChannels } from '../alerts/channels/create-channels.ts';
import type { DeliveryOutcome } from '../alerts/channels/deliver.ts';
import type { StaleCheck } from '../alerts/evaluate-system.ts';
import { findDueDeliveries, isAnythingDue, nextDueMs } from '../alerts/outbox/due.ts';
import type { EmergencyMessage, EmergencyOutcome } from '../alerts/outbox/emergency.ts';
import { type ChannelRoute, channelsOf, toRoutes } from '../alerts/pipeline/route.ts';
import type { JobHealth } from '../alerts/rules/job-failed/detect.ts';
import { secretsOf } from '../config/reading/secrets.ts';
import type { Config, WorkspaceConfig } from '../config/types.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { createLogger, type LogDestination, type Logger } from '../core/logger.ts';
import type { Period } from '../core/period.ts';
import { readVersion } from '../core/process/package-file.ts';
import { Releasers } from '../core/process/releasers.ts';
import { type Randomness, randomId, systemRandomness } from '../core/randomness.ts';
import { createRedactor, type Redactor } from '../core/text/redact.ts';
import {
  checkpointKeyPath,
  describeHeadMismatch,
  describeMissingCheckpoints,
  MISSING_CHECKPOINTS_REMEDY,
} from '../ledger/audit/anchor/checkpoint-log.ts';
import { firstRun } from '../ledger/journal/runs/run-facts.ts';
import { UnknownWorkspaceError } from '../ledger/journal/unknown-workspace.ts';
import { type LedgerReader, openReader } from '../ledger/store/file/open.ts';
import { describeLockHolder } from '../ledger/store/file/write-lock.ts';
import { planWindow } from '../sync/plan.ts';
import type { SyncOutcome, SyncRequest } from '../sync/run.ts';
import { StagingMemory } from '../sync/staging-room.ts';
import type { UsageApiClient } from '../usage-api/client.ts';
import type { WriterOptions } from '../writer/session.ts';
import type { StartedThread } from '../writer/start-thread.ts';
import { openThreadedWriter } from '../writer/threaded-writer.ts';
import { DISK_FAULT_CODES, type Writer, withFaultReport } from '../writer/writer.ts';
import type { TestReport } from './delivery.ts';
import { MetricEvents } from './metric-events.ts';
import { type ClientOverrides, ServiceClients } from './service-clients.ts';

/** Secrets of this many latest configurations are redacted: work in progress may still use an earlier one. */
const REMEMBERED_SECRETS = 5;
const MISMATCH_HINT =
  'unless you replaced the ledger on purpose, stop usage-ledger and restore the right ledger file; checkpoints.log ' +
  'in its folder has the digests of the right ledger';

/** Parts of a Context that tests and interactive commands replace. */
export interface ContextOverrides {
  clock?: Clock;
  logger?: Logger;
  logDestination?: LogDestination;
  randomness?: Randomness;
  clientOptions?: ClientOverrides;
  /** Sends the requests to billing systems; by default they have connections of their own. */
  outletDispatcher?: Dispatcher;
  channels?: ReadonlyMap<string, Channel>;
  /** A thread that was started early. The first writer that is opened takes it. */
  thread?: StartedThread | undefined;
  /** Opens the ledger for writing; default: on its own thread. */
  openWriter?: (start: WriterOptions) => Promise<Writer>;
}

/** A request to sync one workspace, before the window of the run is planned. */
export interface ContextSyncRequest extends Omit<SyncRequest, 'window'> {
  workspaceId: string;
  from?: Period | undefined;
  to?: Period | undefined;
}

/**
 * The resources of one process: configuration, ledger, service clients and alert channels. Each resource is opened on
 * first use; `close` releases all in reverse order.
 */
export class Context {
  readonly clock: Clock;
  /** Removes the secrets of this configuration and of earlier ones from a text. */
  readonly redact: Redactor = (text) => this.#redactSecrets(text);
  readonly logger: Logger;
  readonly version: string;
  readonly #releasers = new Releasers();
  readonly #overrides: ContextOverrides;
  #config: Config;
  #channels: ReadonlyMap<string, Channel>;
  #routes: readonly ChannelRoute[];
  /** One list of secrets per configuration, newest first. */
  #secrets: readonly string[][];
  #redactSecrets: Redactor;
  readonly #staging = new StagingMemory();
  readonly metricEvents = new MetricEvents();
  readonly #clients: ServiceClients;
  readonly randomness: Randomness;
  readonly #openWriterAt: (start: WriterOptions) => Promise<Writer>;
  #writer: Promise<Writer> | null = null;
  readonly #writerDeath = Promise.withResolvers<AppError>();
  #writerFault: string | null = null;
  /** True when another process held the ledger's write lock at the last write. */
  #locked = false;
  #diskFault: string | null = null;
  #reader: LedgerReader | null = null;

  constructor(config: Config, overrides: ContextOverrides = {}) {
    this.#config = config;
    this.#overrides = overrides;
    this.clock = overrides.clock ?? systemClock;
    this.#secrets = [secretsOf(config)];
    this.#redactSecrets = createRedactor(this.#secrets.flat());
    const { logDestination: destination } = overrides;
    this.logger = overrides.logger ?? createLogger({ level: config.logLevel, redact: this.redact, destination });
    this.version = readVersion();
    this.randomness = overrides.randomness ?? systemRandomness;
    this.#channels = this.#channelsOf(config);
    this.#routes = toRoutes(channelsOf(config), config.http.publicUrl);
    this.#clients = new ServiceClients(this, this.#releasers, overrides.clientOptions);
    let { thread } = overrides;
    const openThreaded = (start: WriterOptions): Promise<Writer> => {
      const started = thread;
      thread = undefined;
      return openThreadedWriter(start, started);
    };
    this.#openWriterAt = overrides.openWriter ?? openThreaded;
  }

  /** The active configuration. It is immutable: a reload replaces it. */
  get config(): Config {
    return this.#config;
  }

  get channels(): ReadonlyMap<string, Channel> {
    return this.#channels;
  }

  get outletDispatcher(): Dispatcher | undefined {
    return this.#overrides.outletDispatcher;
  }

  #channelsOf(config: Config): ReadonlyMap<string, Channel> {
    const { logger, clock } = this;
    return this.#overrides.channels ?? createChannels(channelsOf(config), { logger, clock, proxy: config.proxy });
  }

  /** Replaces the configuration. Runs in progress keep their settings, but use the new API keys. */
  async reconfigure(config: Config): Promise<void> {
    const channels = this.#channelsOf(config);
    const routes = toRoutes(channelsOf(config), config.http.publicUrl);
    const secrets = [secretsOf(config), ...this.#secrets].slice(0, REMEMBERED_SECRETS);
    const writer = await this.writer();
    await writer.reconfigure({ routes, secrets: secrets.flat(), nowMs: this.clock.now() });
    this.#config = config;
    this.#channels = channels;
    this.#routes = routes;
    this.#secrets = secrets;
    this.#redactSecrets = createRedactor([...new Set(secrets.flat())]);
    await this.#clients.reconfigure();
  }

  /**
   * Schedules the notifications of all open alerts. A daemon calls this at its start, because the previous process may
   * have had other channels.
   */
  async evaluateAll(): Promise<void> {
    await (await this.writer()).evaluateAll({ nowMs: this.clock.now() });
  }

  /** Returns the writing side of the ledger; opening it creates or migrates the ledger. */
  writer(): Promise<Writer> {
    this.#writer ??= this.#openWriter();
    // After a failure the next call opens the ledger again: the cause may be temporary, such as another migration.
    this.#writer.catch(() => {
      this.#writer = null;
    });
    return this.#writer;
  }

  /** Returns the writer of an existing ledger: a command that corrects a ledger must not create an empty one. */
  async existingWriter(): Promise<Writer> {
    try {
      this.reader();
    } catch (error) {
      // An older ledger is no error here, because opening the writer migrates it.
      if (!(error instanceof AppError) || error.code !== 'ledger_outdated') throw error;
    }
    return this.writer();
  }

  async #openWriter(): Promise<Writer> {
    const { path, checkpointKeyFile, readerGroup } = this.config.ledger;
    const opened = await this.#openWriterAt({
      path,
      checkpointKeyFile,
      readerGroup,
      version: this.version,
      nowMs: this.clock.now(),
      newLedgerId: this.newLedgerId(),
      secrets: secretsOf(this.config),
      routes: this.#routes,
    });
    const writer = withFaultReport(opened, (fault) => {
      if (fault?.code === 'ledger_busy') this.#locked = true;
      else if (fault === null || DISK_FAULT_CODES.includes(fault.code)) this.#diskFault = fault?.message ?? null;
    });
    this.#releasers.push(() => writer.close());
    void writer.ended.then((error) => {
      if (error === null) return;
      this.#writerFault = error.message;
      this.#writerDeath.resolve(error);
    });
    const { applied, backup } = writer.migration;
    if (backup !== null) this.logger.info({ applied, backup }, 'the ledger was migrated to this version');
    else if (applied > 0) this.logger.info({ ledger: path }, 'the ledger was created');
    this.#compareWithCheckpoints();
    return writer;
  }

  /** Compares the ledger with its last checkpoint. Called before any run, because each run writes a new checkpoint. */
  #compareWithCheckpoints(): void {
    const { path, checkpointKeyFile = checkpointKeyPath(path) } = this.config.ledger;
    const { connection } = this.reader();
    const reason = describeHeadMismatch(connection, path);
    if (reason !== null) {
      this.logger.warn({ reason, hint: MISMATCH_HINT }, 'the ledger does not match its last checkpoint');
    }
    const lost = describeMissingCheckpoints(connection, path, checkpointKeyFile);
    if (lost !== null) {
      this.logger.warn(
        { reason: lost, hint: MISSING_CHECKPOINTS_REMEDY },
        'the checkpoint log of the ledger is missing',
      );
    }
  }

  /** Resolves when the writer dies without being closed: this process can no longer write. */
  get writerDeath(): Promise<AppError> {
    return this.#writerDeath.promise;
  }

  /** Describes why this process cannot write: its writer died, or another process holds the lock; otherwise null. */
  get writerFault(): string | null {
    if (this.#writerFault !== null || !this.#locked) return this.#writerFault;
    const holder = describeLockHolder(this.config.ledger.path, 0);
    this.#locked = holder !== null;
    return holder && `${holder} holds the write lock`;
  }

  /** Describes why the disk rejected the last write; null when that write succeeded. */
  get diskFault(): string | null {
    return this.#diskFault;
  }

  reader(): LedgerReader {
    if (this.#reader === null) {
      const reader = openReader(this.config.ledger.path);
      this.#releasers.push(() => reader.close());
      this.#reader = reader;
    }
    return this.#reader;
  }

  newLedgerId(): string {
    return randomId(this.randomness);
  }

  workspace(id: string): WorkspaceConfig {
    const workspace = this.config.workspaces.find((candidate) => candidate.id === id);
    if (workspace !== undefined) return workspace;
    const known = this.config.workspaces.map((candidate) => JSON.stringify(candidate.id)).join(', ');
    throw new UnknownWorkspaceError(id, 'configuration', `use one of ${known}`);
  }

  client(workspace: WorkspaceConfig): Promise<UsageApiClient> {
    return this.#clients.client(workspace);
  }

  /** Bytes of memory reserved for responses in progress. */
  get reservedResponseBytes(): number {
    return this.#clients.reservedResponseBytes;
  }

  /** Loads and opens everything that a sync needs, so that a daemon's first sync does not block its event loop. */
  async warm(): Promise<void> {
    const clients = this.config.workspaces.map((workspace) => this.client(workspace));
    await Promise.all([this.writer(), import('../sync/run.ts'), ...clients]);
  }

  /** Loads the code that sends messages now, because it may be missing later if the package is replaced meanwhile. */
  async warmDelivery(): Promise<void> {
    await Promise.all([import('./delivery.ts'), import('../alerts/channels/open-channel.ts')]);
  }

  async sync(request: ContextSyncRequest): Promise<SyncOutcome> {
    const workspace = this.workspace(request.workspaceId);
    const { client, release } = this.#clients.acquire(workspace);
    try {
      // The writer's thread loads its code while this thread loads `run.ts`.
      const [writer, source, { syncWorkspace }] = await Promise.all([this.writer(), client, import('../sync/run.ts')]);
      const first = firstRun(this.reader().connection, workspace.id) === null;
      const window = planWindow({ ...workspace, ...request, first, nowMs: this.clock.now() });
      return await syncWorkspace(
        {
          writer,
          source,
          workspace,
          pace: await this.#clients.pacerOf(workspace),
          staging: this.#staging,
          clock: this.clock,
          logger: this.logger,
        },
        { ...request, window },
      );
    } finally {
      await release();
    }
  }

  /** Raises alerts for workspaces that had no complete run for too long; returns the number of notifications due. */
  async raiseStale(workspaces: StaleCheck[]): Promise<number> {
    const writer = await this.writer();
    return (await writer.raiseStale({ workspaces, nowMs: this.clock.now() })).due;
  }

  /**
   * Raises an alert about a failing job of the ledger, or ends it if `detail` is null. Returns the number of
   * notifications due. `alreadySent` lists the emergency notifications that were sent or may have been sent.
   */
  async reportJobHealth(health: JobHealth, alreadySent: readonly EmergencyMessage[] = []): Promise<number> {
    const writer = await this.writer();
    return (await writer.reportJobHealth({ ...health, alreadySent, nowMs: this.clock.now() })).due;
  }

  /** Composes the notifications about a failing job without writing to the ledger. */
  async composeEmergency(health: JobHealth): Promise<EmergencyMessage[]> {
    const { composeEmergency } = await import('../alerts/outbox/emergency.ts');
    return composeEmergency(this.reader().connection, this.#routes, health, this.clock.now());
  }

  /** Tries once to send a message that is not recorded in the ledger. */
  async sendDirectly(
    { channel, notificationId, payload }: EmergencyMessage,
    signal: AbortSignal,
  ): Promise<EmergencyOutcome> {
    const result = await this.channels.get(channel)?.deliver({ notificationId, payload, attempt: 1 }, { signal });
    if (result?.outcome === 'retry') return result.unknown ? 'unknown' : 'refused';
    return result?.outcome === 'cancelled' ? 'unknown' : 'accepted';
  }

  /** Composes the notifications that are due; returns their number. */
  async compose(): Promise<number> {
    const nowMs = this.clock.now();
    const writer = await this.writer();
    const channels = [...this.channels.keys()];
    if (!isAnythingDue(this.reader().connection, channels, nowMs)) return 0;
    const made = await writer.compose({ nowMs });
    if (made > 0) this.logger.info({ notifications: made }, 'notifications composed');
    return made;
  }

  /** Lists the notifications to send now, at most `limit` per channel; the one that is due longest comes first. */
  dueDeliveries(limit: number): { notificationId: string; channel: string }[] {
    const channels = [...this.channels.keys()];
    return findDueDeliveries(this.reader().connection, { channels, limit, nowMs: this.clock.now() });
  }

  /** Returns the milliseconds until the next delivery is due; null when none is scheduled. */
  untilNextDueMs(): number | null {
    const nowMs = this.clock.now();
    const dueMs = nextDueMs(this.reader().connection, nowMs);
    return dueMs === null ? null : dueMs - nowMs;
  }

  async deliver(notificationId: string, signal: AbortSignal): Promise<DeliveryOutcome> {
    return (await import('./delivery.ts')).deliver(this, notificationId, signal);
  }

  async test(name: string, signal: AbortSignal): Promise<TestReport> {
    return (await import('./delivery.ts')).sendTest(this, name, signal);
  }

  /** Closes everything that was opened. May be called twice. */
  close(): Promise<void> {
    return this.#releasers.release();
  }
}
