import type { Redis } from 'ioredis';
import { type Cancel, systemClock } from '../../core/clock.ts';
import { backoffMs } from '../../core/net/retry.ts';
import { oneAtATime } from '../../core/one-at-a-time.ts';
import { probeRedis, type RedisFacts, writeHeartbeat } from './probe.ts';
import type { RedisFault } from './refusals.ts';
import type { RedisWatch } from './watch.ts';

/** From a failed probe to the next one. */
const RETRY_BACKOFF = { baseMs: 500, maxMs: 15_000 };
/** From a refusal that the probe does not find to the next try. */
const UNFOUND_BACKOFF = { baseMs: 10_000, maxMs: 60_000 };
/** Refusals that are further apart than this have nothing to do with each other. */
const STABLE_AFTER_MS = 120_000;
/** A new connection may reach another server: a primary that was moved is found by its name again. */
const RECONNECT_CODES = ['READONLY', 'MASTERDOWN', 'NOAUTH'];

const LOST_RETRY_MS = 1_000;
/** A right that was taken away is noticed this soon, even if no job needs it. */
const FULL_INTERVAL_MS = 30_000;

export interface ProberOptions {
  connection: Redis;
  watch: RedisWatch;
  ledgerId: string;
  /** From one sign of life to the next. */
  intervalMs: number;
  /** Called after each probe that passed. */
  onPass(): void;
}

export interface Prober {
  /** What the last full probe learned; null before one passed. */
  readonly facts: RedisFacts | null;
  /** Resolves once Redis was probed, either way; at once when it is not connected. */
  probe(): Promise<void>;
  /** Probes fully because a command was refused. If the probe passes, Redis counts as refusing for a while all the same. */
  suspect(fault: RedisFault): void;
  end(): void;
}

/**
 * Tells the watch whether Redis does what the queue needs: by a full probe after each loss or refusal until one passes and
 * every half minute, and by one write every interval. A Redis that is frozen, read-only or full breaks no connection.
 */
export function startProber({ connection, watch, ledgerId, intervalMs, onPass }: ProberOptions): Prober {
  let facts: RedisFacts | null = null;
  let suspected: RedisFault | null = null;
  let failures = 0;
  let fullMs = 0;
  let unfound = 0;
  let unfoundMs = 0;
  let delayMs = intervalMs;
  let ended = false;
  let cancel: Cancel = () => undefined;

  const work = async (): Promise<void> => {
    // The watch knows by itself that a connection is lost.
    if (connection.status !== 'ready') return;
    const cause = suspected;
    suspected = null;
    const isKnown = cause === null && watch.probed && systemClock.monotonic() - fullMs < FULL_INTERVAL_MS;
    if (!isKnown || (await writeHeartbeat(connection, ledgerId)) !== null) await probeFully(cause);
    if (watch.probed && !ended) onPass();
  };
  const probeFully = async (cause: RedisFault | null): Promise<void> => {
    const result = await probeRedis(connection, ledgerId);
    if (ended) return;
    fullMs = systemClock.monotonic();
    facts = result.facts ?? facts;
    failures = result.fault === null ? 0 : failures + 1;
    // The probe names everything that is missing, and its words are better.
    const fault = result.fault ?? cause;
    delayMs =
      fault === null ? intervalMs : result.fault === null ? unfoundDelayMs() : backoffMs(failures, RETRY_BACKOFF);
    watch.heard(fault);
  };
  const unfoundDelayMs = (): number => {
    const nowMs = systemClock.monotonic();
    unfound = nowMs - unfoundMs > STABLE_AFTER_MS ? 0 : unfound + 1;
    unfoundMs = nowMs;
    return backoffMs(unfound, UNFOUND_BACKOFF);
  };
  const { rerun } = oneAtATime(work);
  const schedule = (afterMs: number): void => {
    cancel();
    if (!ended) cancel = systemClock.after(afterMs, () => void next(), { background: true });
  };
  const probe = async (): Promise<void> => {
    await rerun();
    schedule(delayMs);
  };
  const next = async (): Promise<void> => {
    if (!RECONNECT_CODES.includes(watch.fault?.code ?? '')) return probe();
    // Its 'ready' probes.
    watch.reconnect();
    schedule(delayMs);
  };
  connection.on('ready', () => void probe());
  // Another connection was lost: this one may be fine, and then nothing else would begin a probe soon.
  const endOnLost = watch.onLost(() => schedule(Math.min(delayMs, LOST_RETRY_MS)));
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
      endOnLost();
      cancel();
    },
  };
}
