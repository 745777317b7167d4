import { summarizeError, toBackupError } from '../core/errors.ts';
import { backoffMs } from '../core/net/retry.ts';
import { oneAtATime } from '../core/one-at-a-time.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import { counted } from '../core/text/words.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import type { PublishReport } from '../publish/publish-ledger.ts';
import { lagOf } from '../publish/standing.ts';

const LOOK_INTERVAL_MS = 2_000;
const TELL_INTERVAL_MS = 60_000;
const RETRY = { baseMs: 2_000, maxMs: 5 * 60_000 };

export interface PublishHealth {
  /** The link of the chain that it holds; null before the first answer. */
  position: number | null;
  lagLinks: number;
  lagSeconds: number;
  fault: { code: string; message: string } | null;
  /** Something has waited for too long, and a try that began since has failed. */
  stale: boolean;
  unready: boolean;
}

export interface PublishWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  connection: LedgerDb;
  publish(signal: AbortSignal): Promise<PublishReport>;
  tell(detail: string | null): Promise<void>;
  staleMs: number;
  unreadyWhenStale: boolean;
}

/** Looks every two seconds whether anybody has written to the ledger, and publishes what is new. */
export class PublishWatch {
  readonly #options: PublishWatchOptions;
  readonly #publishing = oneAtATime(() => this.#publishNow());
  readonly #stopping = new AbortController();
  readonly #tasks: readonly PeriodicTask[];
  #version: unknown = null;
  /** Since when something waits that no try has sent, by the monotonic clock; null: nothing does. */
  #waitingSinceMs: number | null = null;
  #restUntilMs = 0;
  #failures = 0;
  /** For how long it had waited when the last try began, which has failed. */
  #failedAfterMs = 0;
  #position: number | null = null;
  #fault: PublishHealth['fault'] = null;
  /** The fault with its remedy. */
  #reason = '';
  /** Whether the alert is open; null: a daemon before this one may have left it so. */
  #isRaised: boolean | null = null;

  constructor(options: PublishWatchOptions) {
    this.#options = options;
    const { clock, logger } = options;
    const look = {
      intervalMs: LOOK_INTERVAL_MS,
      failed: 'the ledger could not be looked at',
      work: () => this.#look(),
    };
    const tell = { intervalMs: TELL_INTERVAL_MS, failed: 'an alert was not written', work: () => this.tell() };
    this.#tasks = [look, tell].map((task) => startPeriodicTask({ clock, logger, ...task }));
  }

  publish(): Promise<void> {
    return this.#publishing.run();
  }

  /** One look now at whether the alert has to be raised or ended. */
  async tell(): Promise<void> {
    const { stale, position } = this.health();
    if (!stale && (this.#isRaised === false || position === null)) return;
    const minutes = Math.round(this.#failedAfterMs / 60_000);
    await this.#options.tell(stale ? `nothing published for ${counted(minutes, 'minute')}: ${this.#reason}` : null);
    this.#isRaised = stale;
  }

  health(): PublishHealth {
    const { connection, clock, staleMs, unreadyWhenStale } = this.#options;
    const position = this.#position;
    const lag = lagOf(connection, position, clock.now());
    const stale = this.#fault !== null && this.#failedAfterMs > staleMs;
    return {
      position,
      lagLinks: lag.links,
      lagSeconds: lag.seconds,
      fault: this.#fault,
      stale,
      unready: stale && unreadyWhenStale,
    };
  }

  /** Ends a publication under way, whatever its server does: Postgres takes it back. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#tasks.map((task) => task.stop()));
  }

  async #look(): Promise<void> {
    const { clock, connection } = this.#options;
    // SQLite's own count: it moves when another connection has committed.
    const version = connection.pragma('data_version', { simple: true });
    if (version !== this.#version) this.#waitingSinceMs ??= clock.monotonic();
    this.#version = version;
    if (this.#waitingSinceMs === null || clock.monotonic() < this.#restUntilMs) return;
    // It has said itself why it failed, if it did.
    await this.publish().catch(() => undefined);
  }

  async #publishNow(): Promise<void> {
    const { clock, logger } = this.#options;
    const beganMs = clock.monotonic();
    const sinceMs = this.#waitingSinceMs ?? beganMs;
    // What is written from now on may come too late for this one.
    this.#waitingSinceMs = null;
    try {
      const { to } = await this.#options.publish(this.#stopping.signal);
      if (this.#fault !== null) logger.info({ position: to }, 'the ledger is published again');
      [this.#position, this.#fault, this.#failures] = [to, null, 0];
    } catch (error) {
      this.#waitingSinceMs = sinceMs;
      this.#failedAfterMs = beganMs - sinceMs;
      this.#restUntilMs = clock.monotonic() + backoffMs(this.#failures, RETRY);
      this.#failures += 1;
      const { code, message, hint } = summarizeError(error);
      const reason = toBackupError({ message, hint });
      // The missing right may change while the code stays.
      const isNew = (this.#fault?.code !== code || this.#reason !== reason) && !this.#stopping.signal.aborted;
      this.#reason = reason;
      if (isNew) logger.error({ code, reason: message, hint }, 'the ledger could not be published');
      this.#fault = { code, message };
      throw error;
    }
  }
}
