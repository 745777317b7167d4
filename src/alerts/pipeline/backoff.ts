import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/durations.ts';

/** The waits after the first failures. After them, the last wait repeats. */
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
/**
 * Each wait is shortened at random by up to this share. It is never lengthened, so that all waits together stay below
 * three days.
 */
const JITTER = 0.2;

/**
 * Returns how long to wait after failed attempt number `attempt` (from 1), in whole milliseconds. Null if all waits
 * together would exceed three days: the delivery is given up. `random` returns numbers from 0 to below 1.
 */
export function nextAttemptDelayMs(attempt: number, random: () => number): number | null {
  let totalMs = 0;
  for (let failed = 1; failed <= attempt; failed += 1) totalMs += plannedDelayMs(failed);
  if (totalMs > GIVE_UP_AFTER_MS) return null;
  return Math.round(plannedDelayMs(attempt) * (1 - JITTER * random()));
}

/**
 * Returns the number of failures that a message starts with if it replaces one that failed. The new message has the
 * waits that the old one would have had next, but is tried for three days of its own.
 */
export function initialFailures(failures: number): number {
  return Math.min(failures, DELAYS_MS.length - 1);
}

function plannedDelayMs(attempt: number): number {
  return DELAYS_MS[attempt - 1] ?? REPEATED_DELAY_MS;
}
