import { settlesWithin } from '../../core/deadline.ts';
import { summarizeError } from '../../core/errors.ts';
import { backoffMs } from '../../core/net/backoff.ts';
import { oneAtATime } from '../../core/one-at-a-time.ts';
import { type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { lagOf } from '../../publish/lag.ts';
import type { PublisherHandle } from '../../publish/thread/publisher-handle.ts';

const LOOK_INTERVAL_MS = 2_000;
const TELL_INTERVAL_MS = 60_000;
/** A server that is away is asked again soon at first; a copy that was refused waits for a person. */
const RETRY = { baseMs: 2_000, maxMs: 5 * 60_000 };
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
  /** Something has waited for too long. */
  stale: boolean;
  /** The daemon is not ready because of it. */
  unready: boolean;
}

export interface ReplicaWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  connection: LedgerConnection;
  publisher: Pick<PublisherHandle, 'publish' | 'close'>;
  /** Raises, or with null ends, the alert about the replica. */
  tell(detail: string | null): Promise<void>;
  staleMs: number;
  /** Whether a stale replica makes the daemon unready. */
  unreadyWhenStale: boolean;
}

export interface ReplicaWatch {
  /** Publishes what is new, or joins the publish under way. */
  publish(): Promise<unknown>;
  /** One look now at whether the alert has to be raised or ended. */
  tell(): Promise<void>;
  /** The first publish, waited for as long as a start may take. Never rejects. */
  begin(): Promise<void>;
  health(): ReplicaHealth;
  /** Ends a publish under way, whatever its server does: Postgres takes it back. */
  stop(): Promise<void>;
}

/** Looks every two seconds whether anybody has written to the ledger, and has what is new published. */
export function startReplicaWatch(options: ReplicaWatchOptions): ReplicaWatch {
  const { connection, publisher, clock, logger, staleMs } = options;
  let version: unknown = null;
  /** These by the monotonic clock. */
  let waitingSinceMs: number | null = clock.monotonic();
  let underWaySinceMs: number | null = null;
  let restUntilMs = 0;
  let failures = 0;
  let position: number | null = null;
  let fault: ReplicaHealth['fault'] = null;
  let wasTold = false;

  let stopped = false;

  const publish = oneAtATime(async () => {
    const since = waitingSinceMs ?? clock.monotonic();
    // What is written from now on may come too late for this one.
    [underWaySinceMs, waitingSinceMs] = [since, null];
    try {
      const report = await publisher.publish(clock.now());
      if (fault !== null) logger.info({ position: report.to }, 'the replica takes the ledger again');
      const { mended = [] } = report;
      if (mended.length > 0) logger.warn({ mended }, "the replica's schema was not the one of this version: mended");
      [position, fault, failures, restUntilMs] = [report.to, null, 0, 0];
      if (report.rows > 0) logger.debug({ ...report }, 'ledger published');
      return report;
    } catch (error) {
      waitingSinceMs = since;
      if (stopped) throw error;
      const { code, message, hint } = summarizeError(error);
      if (fault?.code !== code) logger.error({ code, reason: message, hint }, 'the ledger could not be published');
      fault = { code, message };
      restUntilMs = clock.monotonic() + backoffMs(failures, RETRY);
      failures += 1;
      throw error;
    } finally {
      underWaySinceMs = null;
    }
  });
  const lateMs = (): number => {
    const nowMs = clock.monotonic();
    return nowMs - (underWaySinceMs ?? waitingSinceMs ?? nowMs);
  };
  const health = (): ReplicaHealth => {
    const lag = position === null ? { links: 0, seconds: 0 } : lagOf(connection, position, clock.now());
    const fenced = fault?.code === 'replica_refused';
    const stale = fenced || lateMs() > staleMs;
    const unready = stale && options.unreadyWhenStale;
    return { position, lagLinks: lag.links, lagSeconds: lag.seconds, fault, fenced, stale, unready };
  };
  const look = async (): Promise<void> => {
    const found = connection.pragma('data_version', { simple: true });
    if (found !== version) {
      version = found;
      waitingSinceMs ??= clock.monotonic();
    }
    if (waitingSinceMs === null || clock.monotonic() < restUntilMs) return;
    // It has said itself why it failed, if it did.
    await publish.run().catch(() => undefined);
  };
  const tell = async (): Promise<void> => {
    const { stale, fenced } = health();
    if (!stale && !wasTold) return;
    const minutes = Math.round(lateMs() / 60_000);
    const why = fault === null ? '' : `: ${fault.message}`;
    await options.tell(
      stale ? (fenced ? (fault?.message ?? '') : `nothing published for ${minutes} minutes${why}`) : null,
    );
    wasTold = stale;
  };
  const tasks = [
    startPeriodicTask({
      ...{ clock, logger, intervalMs: LOOK_INTERVAL_MS },
      ...{ failed: 'what is new in the ledger could not be looked for', work: look },
    }),
    startPeriodicTask({
      ...{ clock, logger, intervalMs: TELL_INTERVAL_MS },
      ...{ failed: 'the alert about the replica was not written', work: tell },
    }),
  ];
  return {
    publish: publish.run,
    tell,
    async begin() {
      version = connection.pragma('data_version', { simple: true });
      await settlesWithin(publish.run(), FIRST_ANSWER_MS, clock);
      if (health().fenced) await tell().catch(() => undefined);
    },
    health,
    async stop() {
      stopped = true;
      const stopping = tasks.map((task) => task.stop());
      await publisher.close();
      await Promise.all(stopping);
    },
  };
}
