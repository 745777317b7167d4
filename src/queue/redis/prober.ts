import type { Redis } from 'ioredis';
import { backoffMs } from '../../core/backoff.ts';
import { type Cancel, systemClock } from '../../core/clock.ts';
import { oneAtATime } from '../../core/one-at-a-time.ts';
import { probeRedis, type RedisFacts, writeHeartbeat } from './probe.ts';
import type { RedisFault } from './refusals.ts';
import type { RedisWatch } from './watch.ts';

/** Delay after a failed probe. */
const RETRY_BACKOFF = { baseMs: 500, maxMs: 15_000 };
/** Delay after Redis refused a command of the queue although a probe then passed. */
const UNCONFIRMED_BACKOFF = { baseMs: 10_000, maxMs: 60_000 };
/** A refusal this long after the previous one does not increase the delay. */
const UNRELATED_AFTER_MS = 120_000;
/** After these errors the connections are reopened, because the server's name may lead to another primary by now. */
const RECONNECT_CODES = ['READONLY', 'MASTERDOWN', 'NOAUTH'];

const LOST_RETRY_MS = 1_000;
/** Interval of full probes. They detect a revoked permission even if no job needs it. */
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

/** Tests regularly whether Redis can run the queue. */
export interface Prober {
  /** Facts about Redis from the last full probe that passed; null if none has passed. */
  readonly facts: RedisFacts | null;
  /** Probes Redis now. Resolves after the probe has passed or failed; at once if Redis is not connected. */
  probe(): Promise<void>;
  /**
   * Starts a full probe because a command was refused. Even if it passes, Redis is treated as unavailable for a while.
   */
  suspect(fault: RedisFault): void;
  end(): void;
}

/**
 * Tests whether Redis can run the queue and reports the result to the watch. A frozen, read-only or full Redis does not
 * close its connections, so connections alone do not show that. Each interval one key is written. A full probe follows
 * every half minute; after a lost connection or a refusal it is repeated until it passes.
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
    // The watch detects a lost connection itself.
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
    // The fault that the probe found is preferred, because it names everything that is missing.
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
    // The 'ready' event of the new connection starts a probe.
    watch.reconnect();
    schedule(delayMs);
  };
  connection.on('ready', () => void probe());
  // Another connection was lost. This one may be fine, and then no event of it would start a probe.
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
