import { latestTime, timesAfter } from '../core/cron.ts';
import { ageMs, canHaveHappened } from '../core/stored-time.ts';

export interface SlotHistory {
  /** The latest slot that is done, an ISO time; null when none is. */
  doneSlot: string | null;
  failures: number;
  failedSlot: string | null;
  failedAtMs: number | null;
  /** It failed in a way that only somebody's doing can mend: asking often would help nobody. */
  refused: boolean;
}

/** A slot that is not done yet, and its attempt, counted from 1 over all slots since the last that was done. */
export interface DueAttempt {
  slot: string;
  attempt: number;
}

/** Of a slot's first retries; the wait doubles from there. */
const FIRST_RETRY_MS = 15_000;
/** After so many failures in a row the retries within a slot end: its own tick is the next attempt. */
const PATIENT_FAILURES = 10;
const FIRST_REFUSED_MS = 5 * 60_000;
const LONGEST_REFUSED_MS = 60 * 60_000;

/**
 * The slot that is due for catching up, as an ISO time: the latest one, once, however many were missed; null when the
 * last one that is done is not older. Without a last slot one is due at once.
 */
export function dueSlot(cron: string, lastSlot: string | null, nowMs: number): string | null {
  const latestMs = latestTime(cron, nowMs);
  if (latestMs === null) return null;
  if (isDone(lastSlot, latestMs, nowMs)) return null;
  return new Date(latestMs).toISOString();
}

function isDone(doneSlot: string | null, slotMs: number, nowMs: number): boolean {
  const doneMs = doneSlot === null ? null : Date.parse(doneSlot);
  return doneMs !== null && doneMs >= slotMs && canHaveHappened(doneMs, nowMs);
}

/** Whether what was done has come again since: a later attempt failed that was for no later slot, or only in the future. */
function hasComeAgain({ doneSlot, failures, failedSlot, failedAtMs }: SlotHistory, nowMs: number): boolean {
  if (failures === 0 || doneSlot === null || failedSlot === null || failedAtMs === null) return false;
  return failedSlot <= doneSlot || !canHaveHappened(failedAtMs, nowMs);
}

/** The first time that the expression (UTC) names after `nowMs`, milliseconds since the epoch; infinite when there is none. */
export function nextSlot(cron: string, nowMs: number): number {
  return timesAfter(cron, nowMs).next().value ?? Number.POSITIVE_INFINITY;
}

export interface SlotSpan {
  slotMs: number;
  nextMs: number;
}

/** Tells the slot of a time as `latestTime` does, and remembers it until the next one: reading cron takes its time. */
export function createSlotFinder(cron: string): (nowMs: number) => SlotSpan | null {
  let known: SlotSpan | null = null;
  return (nowMs) => {
    if (known !== null && nowMs >= known.slotMs && nowMs < known.nextMs) return known;
    const slotMs = latestTime(cron, nowMs);
    if (slotMs === null) return null;
    known = { slotMs, nextMs: nextSlot(cron, slotMs) };
    return known;
  };
}

/**
 * The attempt that is due, of the latest slot, once, however many were missed; null when that slot is done, or when what
 * failed is to rest for longer. A new slot is tried at its tick whatever failed before, unless we are refused.
 */
export function dueAttempt(span: SlotSpan, history: SlotHistory, nowMs: number): DueAttempt | null {
  if (nextAttemptMs(span, history, nowMs) > nowMs) return null;
  return { slot: new Date(span.slotMs).toISOString(), attempt: history.failures + 1 };
}

/** When the next attempt is due, milliseconds since the epoch: at the next slot, or when the rest after a failure is over. */
export function nextAttemptMs({ slotMs, nextMs }: SlotSpan, history: SlotHistory, nowMs: number): number {
  if (isDone(history.doneSlot, slotMs, nowMs) && !hasComeAgain(history, nowMs)) return nextMs;
  if (history.failures === 0 || history.failedAtMs === null) return nowMs;
  const failedHere = history.failedSlot !== null && Date.parse(history.failedSlot) >= slotMs;
  if (!failedHere && !history.refused) return nowMs;
  const rest = restMs(history, nextMs - slotMs) - (ageMs(history.failedAtMs, nowMs) ?? Number.POSITIVE_INFINITY);
  const restEndsMs = nowMs + Math.max(0, rest);
  return history.refused ? restEndsMs : Math.min(restEndsMs, nextMs);
}

/** How long an entry rests after its latest failure; `paceMs` lies between its slots. */
export function restMs({ failures, refused }: Pick<SlotHistory, 'failures' | 'refused'>, paceMs: number): number {
  if (refused) return Math.min(FIRST_REFUSED_MS * 2 ** Math.min(failures - 1, 10), LONGEST_REFUSED_MS);
  const backoffMs = FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20);
  return Math.min(backoffMs, failures > PATIENT_FAILURES ? paceMs : paceMs / 2);
}
