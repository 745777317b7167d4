import { settlesWithin } from '../../core/deadline.ts';
import { summarizeError } from '../../core/errors.ts';
import { backoffMs } from '../../core/net/backoff.ts';
import { oneAtATime } from '../../core/one-at-a-time.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { lagOf } from '../../publish/lag.ts';
import type { DaemonPublisher } from '../../wiring/context.ts';

const LOOK_INTERVAL_MS = 2_000;
const TELL_INTERVAL_MS = 60_000;
/** A server that is away is asked again soon at first; a copy that was refused waits for a person. */
const RETRY = { baseMs: 2_000, maxMs: 5 * 60_000 };
/** A server that hangs is given up sooner: a try that took longer may have slept with its process. */
const LONGEST_TRY_MS = 15 * 60_000;
/** The start of a daemon waits so long to learn whether its ledger may publish. */
const FIRST_ANSWER_MS = 8_000;

/** How the replica stands, as far as this process knows. */
export interface ReplicaHealth {
  /** The link of the chain that the replica holds; null before its first answer. */
  position: number | null;
  lagLinks: number;
  lagSeconds: number;
  /** Why the last publish has failed; null when it has not. */
  fault: { code: string; message: string } | null;
  /** Another copy of this ledger has taken its place: this one publishes and notifies no more. */
  fenced: boolean;
  /** Something has waited for too long, and a try has failed since. */
  stale: boolean;
  /** The daemon is not ready because of it. */
  unready: boolean;
}

export interface ReplicaWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  connection: LedgerConnection;
  publisher: DaemonPublisher;
  /** Raises, or with null ends, the alert about the replica. */
  tell(detail: string | null): Promise<void>;
  staleMs: number;
  /** Whether a stale replica makes the daemon unready. */
  unreadyWhenStale: boolean;
}

/** Looks every two seconds whether anybody has written to the ledger, and has what is new published. */
export class ReplicaWatch {
  readonly #options: ReplicaWatchOptions;
  readonly #publishing = oneAtATime(() => this.#publishNow());
  readonly #tasks: readonly PeriodicTask[];
  #version: unknown = null;
  /** These by the monotonic clock. */
  #waitingSinceMs: number | null;
  #underWaySinceMs: number | null = null;
  #restUntilMs = 0;
  #failures = 0;
  #position: number | null = null;
  #fault: ReplicaHealth['fault'] = null;
  /** Whether a try has failed since it was late: a process that was frozen knows nothing until then. */
  #failedLate = false;
  /** What the last publish said of workspaces that count in another ledger. */
  #uncounted: readonly string[] = [];
  /** Whether the alert is open; null: a daemon before this one may have left it so. */
  #wasTold: boolean | null = null;
  #stopped = false;

  /** Starts at once. */
  constructor(options: ReplicaWatchOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#waitingSinceMs = clock.monotonic();
    this.#tasks = [
      startPeriodicTask({
        ...{ clock, logger, intervalMs: LOOK_INTERVAL_MS },
        ...{ failed: 'what is new in the ledger could not be looked for', work: () => this.#look() },
      }),
      startPeriodicTask({
        ...{ clock, logger, intervalMs: TELL_INTERVAL_MS },
        ...{ failed: 'the alert about the replica was not written', work: () => this.tell() },
      }),
    ];
  }

  /** Publishes what is new, or joins the publish under way. */
  publish(): Promise<unknown> {
    return this.#publishing.run();
  }

  /** One look now at whether the alert has to be raised or ended. */
  async tell(): Promise<void> {
    const { stale, fenced, position } = this.health();
    if (!stale && (this.#wasTold === false || position === null)) return;
    const minutes = Math.round(this.#lateMs() / 60_000);
    const why = this.#fault === null ? '' : `: ${this.#fault.message}`;
    const since = `nothing published for ${minutes} minutes${why}`;
    await this.#options.tell(stale ? (fenced ? (this.#fault?.message ?? '') : since) : null);
    this.#wasTold = stale;
  }

  /** The first publish, waited for as long as a start may take. Never rejects. */
  async begin(): Promise<void> {
    this.#version = this.#dataVersion();
    await settlesWithin(this.publish(), FIRST_ANSWER_MS, this.#options.clock);
    if (this.health().fenced) await this.tell().catch(() => undefined);
  }

  health(): ReplicaHealth {
    const { connection, clock, unreadyWhenStale } = this.#options;
    const position = this.#position;
    const fault = this.#fault;
    const lag = position === null ? { links: 0, seconds: 0 } : lagOf(connection, position, clock.now());
    const fenced = fault?.code === 'replica_refused';
    const stale = fenced || (this.#isLate && this.#failedLate);
    const unready = stale && unreadyWhenStale;
    return { position, lagLinks: lag.links, lagSeconds: lag.seconds, fault, fenced, stale, unready };
  }

  /** Ends a publish under way, whatever its server does: Postgres takes it back. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const stopping = this.#tasks.map((task) => task.stop());
    await this.#options.publisher.close();
    await Promise.all(stopping);
  }

  async #look(): Promise<void> {
    const { clock } = this.#options;
    const found = this.#dataVersion();
    if (found !== this.#version) {
      this.#version = found;
      this.#waitingSinceMs ??= clock.monotonic();
    }
    const mayRest = !this.#isLate || this.#failedLate;
    if (this.#waitingSinceMs === null || (mayRest && clock.monotonic() < this.#restUntilMs)) return;
    // It has said itself why it failed, if it did.
    await this.publish().catch(() => undefined);
  }

  async #publishNow(): Promise<unknown> {
    const { publisher, clock, logger } = this.#options;
    const since = this.#waitingSinceMs ?? clock.monotonic();
    const [beganMs, wasLate] = [clock.monotonic(), this.#isLate];
    // What is written from now on may come too late for this one.
    [this.#underWaySinceMs, this.#waitingSinceMs] = [since, null];
    try {
      const report = await publisher.publish(clock.now());
      if (this.#fault !== null) logger.info({ position: report.to }, 'the replica takes the ledger again');
      const { mended, uncounted } = report;
      if (mended.length > 0) logger.warn({ mended }, 'somebody had changed the replica: mended');
      if (uncounted.length > 0 && uncounted.join() !== this.#uncounted.join()) {
        logger.warn({ uncounted }, 'workspaces of this ledger count in another one');
      }
      this.#uncounted = uncounted;
      [this.#position, this.#fault, this.#failures, this.#restUntilMs] = [report.to, null, 0, 0];
      this.#failedLate = false;
      if (report.rows > 0) logger.debug({ ...report }, 'ledger published');
      return report;
    } catch (error) {
      this.#waitingSinceMs = since;
      this.#failedLate = this.#isLate && (wasLate || clock.monotonic() - beganMs < LONGEST_TRY_MS);
      if (!this.#stopped) this.#rest(error);
      throw error;
    } finally {
      this.#underWaySinceMs = null;
    }
  }

  #rest(error: unknown): void {
    const { clock, logger } = this.#options;
    const { code, message, hint } = summarizeError(error);
    if (this.#fault?.code !== code) logger.error({ code, reason: message, hint }, 'the ledger could not be published');
    this.#fault = { code, message };
    this.#restUntilMs = clock.monotonic() + backoffMs(this.#failures, RETRY);
    this.#failures += 1;
  }

  /** Something has waited for too long. */
  get #isLate(): boolean {
    return this.#lateMs() > this.#options.staleMs;
  }

  #lateMs(): number {
    const nowMs = this.#options.clock.monotonic();
    return nowMs - (this.#underWaySinceMs ?? this.#waitingSinceMs ?? nowMs);
  }

  /** Of SQLite's own count: it moves when another connection has committed. */
  #dataVersion(): unknown {
    return this.#options.connection.pragma('data_version', { simple: true });
  }
}
