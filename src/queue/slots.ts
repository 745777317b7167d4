import { type CronSchedule, latestTime, type SlotSpan } from '../core/cron.ts';
import { ageMs, canHaveHappened } from '../core/stored-time.ts';

export interface SlotHistory {
  /** The latest slot that is done, as an ISO time; null if none is. */
  doneSlot: string | null;
  failures: number;
  failedSlot: string | null;
  failedAtMs: number | null;
  /** The failure needs a person to fix it, so frequent retries would not help. */
  refused: boolean;
}

/** A slot that is not done, and its attempt, counted from 1 over all slots since the last done one. */
export interface DueAttempt {
  slot: string;
  attempt: number;
}

/** The wait before the first retry of a slot; it doubles from there. */
const FIRST_RETRY_MS = 15_000;
/** After this many failures in a row there are no retries within a slot: the next slot is the next attempt. */
const MAX_FAILURES_FOR_RETRIES = 10;
const FIRST_REFUSED_PAUSE_MS = 5 * 60_000;
const MAX_REFUSED_PAUSE_MS = 60 * 60_000;

/**
 * Returns the latest slot if it is due for catching up, as an ISO time; null if the last done slot is not older.
 * Without a last slot one is due at once.
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

/** Reports whether done work is due again: a later attempt failed for no later slot, or the failure lies in the future. */
function isDueAgain({ doneSlot, failures, failedSlot, failedAtMs }: SlotHistory, nowMs: number): boolean {
  if (failures === 0 || doneSlot === null || failedSlot === null || failedAtMs === null) return false;
  return failedSlot <= doneSlot || !canHaveHappened(failedAtMs, nowMs);
}

/**
 * Returns the due attempt of the latest slot, however many were missed; null if that slot is done or still pauses after
 * a failure. A new slot is tried at its tick regardless of earlier failures, unless they need a person.
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
  const restEndsMs = nowMs + Math.max(0, remainingMs);
  return history.refused ? restEndsMs : Math.min(restEndsMs, nextMs);
}

/** Returns the pause after the latest failure in milliseconds; `intervalMs` is the time between two slots. */
export function pauseAfterFailureMs(
  { failures, refused }: Pick<SlotHistory, 'failures' | 'refused'>,
  intervalMs: number,
): number {
  if (refused) return Math.min(FIRST_REFUSED_PAUSE_MS * 2 ** Math.min(failures - 1, 10), MAX_REFUSED_PAUSE_MS);
  const backoffMs = FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20);
  return Math.min(backoffMs, failures > MAX_FAILURES_FOR_RETRIES ? intervalMs : intervalMs / 2);
}
