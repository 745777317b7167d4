import type { Redis } from 'ioredis';
import { backoffMs } from '../../core/backoff.ts';
import { type Cancel, systemClock } from '../../core/clock.ts';
import { oneAtATime } from '../../core/one-at-a-time.ts';
import { probeRedis, type RedisFacts, writeHeartbeat } from './probe.ts';
import type { RedisFault } from './refusals.ts';
import type { RedisWatch } from './watch.ts';

/** Wait between failed probes. */
const RETRY_BACKOFF = { baseMs: 500, maxMs: 15_000 };
/** Wait after a refusal that the probe does not reproduce. */
const UNCONFIRMED_BACKOFF = { baseMs: 10_000, maxMs: 60_000 };
/** Refusals further apart than this are unrelated. */
const UNRELATED_AFTER_MS = 120_000;
/** Errors after which to reconnect: the name of a moved primary may resolve to another server. */
const RECONNECT_CODES = ['READONLY', 'MASTERDOWN', 'NOAUTH'];

const LOST_RETRY_MS = 1_000;
/** Interval of full probes, so that a revoked permission is detected even if no job needs it. */
const FULL_INTERVAL_MS = 30_000;

export interface ProberOptions {
  connection: Redis;
  watch: RedisWatch;
  ledgerId: string;
  /** Milliseconds between two heartbeats. */
  intervalMs: number;
  /** Called after each probe that passed. */
  onPass(): void;
}

export interface Prober {
  /** Facts from the last full probe; null before one passed. */
  readonly facts: RedisFacts | null;
  /** Resolves after a probe, passed or failed; at once if Redis is not connected. */
  probe(): Promise<void>;
  /** Starts a full probe because a command was refused. Even if it passes, Redis counts as refusing for a while. */
  suspect(fault: RedisFault): void;
  end(): void;
}

/**
 * Reports to the watch whether Redis can run the queue: by full probes after each loss or refusal until one passes and
 * every half minute, and by one write per interval. A frozen, read-only or full Redis breaks no connection.
 */
export function startProber({ connection, watch, ledgerId, intervalMs, onPass }: ProberOptions): Prober {
  let facts: RedisFacts | null = null;
  let suspected: RedisFault | null = null;
  let failures = 0;
  let fullMs = 0;
  let unconfirmed = 0;
  let unconfirmedMs = 0;
  let delayMs = intervalMs;
  let ended = false;
  let cancel: Cancel = () => undefined;

  const probeOnce = async (): Promise<void> => {
    // The watch detects lost connections itself.
    if (connection.status !== 'ready') return;
    const cause = suspected;
    suspected = null;
    const isHeartbeatEnough =
      cause === null && watch.hasPassedProbe && systemClock.monotonic() - fullMs < FULL_INTERVAL_MS;
    if (!isHeartbeatEnough || (await writeHeartbeat(connection, ledgerId)) !== null) await probeFully(cause);
    if (watch.hasPassedProbe && !ended) onPass();
  };
  const probeFully = async (cause: RedisFault | null): Promise<void> => {
    const result = await probeRedis(connection, ledgerId);
    if (ended) return;
    fullMs = systemClock.monotonic();
    facts = result.facts ?? facts;
    failures = result.fault === null ? 0 : failures + 1;
    // The probe's fault is preferred, because it names everything that is missing.
    const fault = result.fault ?? cause;
    delayMs =
      fault === null ? intervalMs : result.fault === null ? unconfirmedDelayMs() : backoffMs(failures, RETRY_BACKOFF);
    watch.recordProbe(fault);
  };
  const unconfirmedDelayMs = (): number => {
    const nowMs = systemClock.monotonic();
    unconfirmed = nowMs - unconfirmedMs > UNRELATED_AFTER_MS ? 0 : unconfirmed + 1;
    unconfirmedMs = nowMs;
    return backoffMs(unconfirmed, UNCONFIRMED_BACKOFF);
  };
  const { rerun } = oneAtATime(probeOnce);
  const schedule = (afterMs: number): void => {
    cancel();
    if (!ended) cancel = systemClock.after(afterMs, () => void probeOrReconnect(), { background: true });
  };
  const probe = async (): Promise<void> => {
    await rerun();
    schedule(delayMs);
  };
  const probeOrReconnect = async (): Promise<void> => {
    if (!RECONNECT_CODES.includes(watch.fault?.code ?? '')) return probe();
    // Its 'ready' event starts a probe.
    watch.reconnect();
    schedule(delayMs);
  };
  connection.on('ready', () => void probe());
  // Another connection was lost. If this one is fine, no event would start a probe soon.
  const unsubscribeLost = watch.onLost(() => schedule(Math.min(delayMs, LOST_RETRY_MS)));
  schedule(intervalMs);

  return {
    get facts() {
      return facts;
    },
    probe,
    suspect(fault) {
      suspected ??= fault;
      void probe();
    },
    end() {
      ended = true;
      unsubscribeLost();
      cancel();
    },
  };
}
