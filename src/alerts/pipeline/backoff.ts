import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/durations.ts';

/** Waits after the first failures; from then on the last one repeats. */
const DELAYS_MS = [
  5 * SECOND_MS,
  15 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
];
const REPEATED_DELAY_MS = 6 * HOUR_MS;
export const GIVE_UP_AFTER_MS = 72 * HOUR_MS;
/** A wait is shortened by up to this share, never lengthened: the sum of all waits stays below three days. */
const JITTER = 0.2;

/**
 * How long to wait after attempt number `attempt` (from 1) of a delivery has failed, in whole milliseconds; null when
 * the waits would pass three days and the delivery is given up. `random` returns numbers from 0 to below 1.
 */
export function nextAttemptDelayMs(attempt: number, random: () => number): number | null {
  let totalMs = 0;
  for (let failed = 1; failed <= attempt; failed += 1) totalMs += plannedDelayMs(failed);
  if (totalMs > GIVE_UP_AFTER_MS) return null;
  return Math.round(plannedDelayMs(attempt) * (1 - JITTER * random()));
}

/**
 * How many of the failures count for another message that takes the place of one: it waits as long as that one would have, and
 * is tried for three days itself.
 */
export function failuresTakenOver(failures: number): number {
  return Math.min(failures, DELAYS_MS.length - 1);
}

function plannedDelayMs(attempt: number): number {
  return DELAYS_MS[attempt - 1] ?? REPEATED_DELAY_MS;
}
