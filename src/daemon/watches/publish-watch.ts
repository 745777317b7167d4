import { backoffMs } from '../../core/backoff.ts';
import { summarizeError, withRemedy } from '../../core/errors.ts';
import { oneAtATime } from '../../core/one-at-a-time.ts';
import type { PeriodicTask } from '../../core/periodic-task.ts';
import { counted } from '../../core/text/words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { readPublishLag } from '../../publish/copy-status.ts';
import type { PublishReport } from '../../publish/publish-ledger.ts';
import { healthOf, type JobDeps, startJob } from '../jobs.ts';
import type { ReportedHealth } from '../reported-health.ts';

const PUBLISH_RETRY = { baseMs: 2_000, maxMs: 5 * 60_000 };

export interface PublishHealth {
  /** The last link of the chain that Postgres has; null before the server's first answer. */
  position: number | null;
  lagLinks: number;
  lagSeconds: number;
  fault: { code: string; message: string } | null;
  /** True if publishing fails, and changes had already waited for longer than allowed when the last attempt began. */
  stale: boolean;
  unready: boolean;
}

export interface PublishWatchOptions extends JobDeps {
  connection: LedgerDb;
  publish(signal: AbortSignal): Promise<PublishReport>;
  reportHealth(detail: string | null): Promise<void>;
  staleMs: number;
  unreadyWhenStale: boolean;
}

/** Checks every two seconds for new commits in the ledger and publishes them. */
export class PublishWatch {
  readonly #options: PublishWatchOptions;
  readonly #publishing = oneAtATime(() => this.#publishNow());
  readonly #stopping = new AbortController();
  readonly #tasks: readonly PeriodicTask[];
  #version: unknown = null;
  /** Monotonic time since which unpublished changes have waited; null if there are none. */
  #waitingSinceMs: number | null = null;
  #restUntilMs = 0;
  #failures = 0;
  /** How long changes had waited when the last failed attempt began. */
  #failedAfterMs = 0;
  #position: number | null = null;
  #fault: PublishHealth['fault'] = null;
  /** The last fault of publishing, with its remedy. */
  #reason = '';
  readonly #health: ReportedHealth;
  /** Aborts the current attempt on stop or at its deadline. */
  #attempt: AbortSignal;

  constructor(options: PublishWatchOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#attempt = this.#stopping.signal;
    this.#health = healthOf('publishHealth', clock, (detail) => options.reportHealth(detail));
    this.#tasks = [
      startJob('publish', { clock, logger }, (signal) => this.#check(signal)),
      startJob('publishHealth', { clock, logger }, () => this.reportHealth()),
    ];
  }

  publish(): Promise<void> {
    return this.#publishing.run();
  }

  /** Raises or ends the alert if its condition has changed. */
  async reportHealth(): Promise<void> {
    const { stale, position } = this.health();
    // Before the first answer of Postgres, an alert that a previous daemon raised stays unchanged.
    if (!stale && position === null) return;
    const minutes = Math.round(this.#failedAfterMs / 60_000);
    await this.#health.report(stale ? `nothing published for ${counted(minutes, 'minute')}: ${this.#reason}` : null);
  }

  health(): PublishHealth {
    const { connection, clock, staleMs, unreadyWhenStale } = this.#options;
    const position = this.#position;
    const lag = readPublishLag(connection, position, clock.now());
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

  /** Aborts a running publication without waiting for the server; Postgres rolls it back. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#tasks.map((task) => task.stop()));
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { clock, connection } = this.#options;
    // SQLite increments `data_version` when another connection commits.
    const version = connection.pragma('data_version', { simple: true });
    if (version !== this.#version) this.#waitingSinceMs ??= clock.monotonic();
    this.#version = version;
    if (this.#waitingSinceMs === null || clock.monotonic() < this.#restUntilMs) return;
    // `#publishNow` has already logged the error.
    this.#attempt = AbortSignal.any([this.#stopping.signal, signal]);
    await this.publish().catch(() => undefined);
  }

  async #publishNow(): Promise<void> {
    const { clock, logger } = this.#options;
    const beganMs = clock.monotonic();
    const sinceMs = this.#waitingSinceMs ?? beganMs;
    // Set before publishing, because commits from now on may be missing from this publication.
    this.#waitingSinceMs = null;
    try {
      const { to } = await this.#options.publish(this.#attempt);
      if (this.#fault !== null) logger.info({ position: to }, 'publishing works again');
      [this.#position, this.#fault, this.#failures] = [to, null, 0];
    } catch (error) {
      this.#waitingSinceMs = sinceMs;
      this.#failedAfterMs = beganMs - sinceMs;
      this.#restUntilMs = clock.monotonic() + backoffMs(this.#failures, PUBLISH_RETRY);
      this.#failures += 1;
      const { code, message, hint } = summarizeError(error);
      const reason = withRemedy({ message, hint });
      // Compares the message, too, because the same code may stand for another missing permission.
      const isNew = (this.#fault?.code !== code || this.#reason !== reason) && !this.#stopping.signal.aborted;
      this.#reason = reason;
      if (isNew) logger.error({ code, reason: message, hint }, 'could not publish the ledger');
      this.#fault = { code, message };
      throw error;
    }
  }
}
