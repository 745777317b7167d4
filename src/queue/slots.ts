import { type CronSchedule, latestTime, type SlotSpan } from '../core/cron.ts';
import { ageMs, canHaveHappened } from '../core/stored-time.ts';

/** What the ledger knows about the attempts at one schedule's slots. */
export interface SlotHistory {
  /** The latest slot that is done, as an ISO time; null if none is. */
  doneSlot: string | null;
  /** Number of failed attempts since the last successful one. */
  failures: number;
  /** The slot of the last failed attempt, as an ISO time; null if none failed. */
  failedSlot: string | null;
  failedAtMs: number | null;
  /**
   * True if a person must fix the cause of the last failure, such as wrong credentials: frequent retries do not help.
   */
  refused: boolean;
}

/** A slot to run now. `attempt` is the number of failed attempts since the last successful one, plus 1. */
export interface DueAttempt {
  slot: string;
  attempt: number;
}

/** Pause before the first retry of a slot. It doubles with each further failure. */
const FIRST_RETRY_MS = 15_000;
/** After more failures in a row than this, a slot is not retried: the next attempt is at the next slot. */
const MAX_FAILURES_FOR_RETRIES = 10;
const FIRST_REFUSED_PAUSE_MS = 5 * 60_000;
const MAX_REFUSED_PAUSE_MS = 60 * 60_000;

/**
 * Returns the latest slot of a schedule as an ISO time, or null if that slot or a later one is done. `lastSlot` is the
 * last slot that is done; if it is null, the latest slot is due.
 */
export function dueSlot(schedule: CronSchedule, lastSlot: string | null, nowMs: number): string | null {
  const latestMs = latestTime(schedule, nowMs);
  if (latestMs === null) return null;
  if (isDone(lastSlot, latestMs, nowMs)) return null;
  return new Date(latestMs).toISOString();
}

function isDone(doneSlot: string | null, slotMs: number, nowMs: number): boolean {
  const doneMs = doneSlot === null ? null : Date.parse(doneSlot);
  return doneMs !== null && doneMs >= slotMs && canHaveHappened(doneMs, nowMs);
}

/**
 * Reports whether a slot that is done must be attempted again. That is so if an attempt after the successful one failed
 * for the same or an earlier slot, or if the last failure is dated in the future because the clock was wrong then.
 */
function isDueAgain({ doneSlot, failures, failedSlot, failedAtMs }: SlotHistory, nowMs: number): boolean {
  if (failures === 0 || doneSlot === null || failedSlot === null || failedAtMs === null) return false;
  return failedSlot <= doneSlot || !canHaveHappened(failedAtMs, nowMs);
}

/**
 * Returns the attempt at the latest slot that is due now; earlier missed slots are skipped. Null if the slot is done,
 * or if the pause after a failure has not ended. A new slot does not wait for that pause, unless a person must fix the
 * failure.
 */
export function dueAttempt(span: SlotSpan, history: SlotHistory, nowMs: number): DueAttempt | null {
  if (nextAttemptMs(span, history, nowMs) > nowMs) return null;
  return { slot: new Date(span.slotMs).toISOString(), attempt: history.failures + 1 };
}

/**
 * Returns the time of the next attempt, in milliseconds since the epoch: at the next slot, or when the pause after a
 * failure ends.
 */
export function nextAttemptMs({ slotMs, nextMs }: SlotSpan, history: SlotHistory, nowMs: number): number {
  if (isDone(history.doneSlot, slotMs, nowMs) && !isDueAgain(history, nowMs)) return nextMs;
  if (history.failures === 0 || history.failedAtMs === null) return nowMs;
  const failedHere = history.failedSlot !== null && Date.parse(history.failedSlot) >= slotMs;
  if (!failedHere && !history.refused) return nowMs;
  const remainingMs =
    pauseAfterFailureMs(history, nextMs - slotMs) - (ageMs(history.failedAtMs, nowMs) ?? Number.POSITIVE_INFINITY);
  const pauseEndsMs = nowMs + Math.max(0, remainingMs);
  return history.refused ? pauseEndsMs : Math.min(pauseEndsMs, nextMs);
}

/** Returns the pause after the last failure, in milliseconds. `intervalMs` is the time between two slots. */
export function pauseAfterFailureMs(
  { failures, refused }: Pick<SlotHistory, 'failures' | 'refused'>,
  intervalMs: number,
): number {
  if (refused) return Math.min(FIRST_REFUSED_PAUSE_MS * 2 ** Math.min(failures - 1, 10), MAX_REFUSED_PAUSE_MS);
  const backoffMs = FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20);
  return Math.min(backoffMs, failures > MAX_FAILURES_FOR_RETRIES ? intervalMs : intervalMs / 2);
}
