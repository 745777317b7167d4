import { isoTime } from './clock.ts';

/**
 * This file decides which stored times of past events are plausible. After the system clock was set back, the stored
 * time of a past event can be in the future. If it is more than a minute in the future, it counts as unknown: a task
 * whose last run is unknown is due, and data of unknown age is not fresh. Times that a person chose, such as the end of
 * a silence, are used unchanged.
 */

/**
 * The stored time of a past event may be this far in the future, because the clocks of several machines differ, and
 * because a clock is sometimes set back by a few seconds.
 */
export const CLOCK_SLACK_MS = 60_000;

/**
 * Reports whether a past event's stored time, in milliseconds since the epoch, is plausible: it is at most
 * `CLOCK_SLACK_MS` later than now.
 */
export function canHaveHappened(epochMs: number, nowMs: number): boolean {
  return epochMs <= nowMs + CLOCK_SLACK_MS;
}

/** Returns the latest plausible time of a past event, as ISO-8601 UTC. A stored time after it counts as unknown. */
export function latestPlausibleTime(nowMs: number): string {
  return isoTime(nowMs + CLOCK_SLACK_MS);
}

/** Returns the stored time of a past event; null if it is missing or implausible. */
export function plausibleTime(epochMs: number | null, nowMs: number): number | null {
  return epochMs !== null && canHaveHappened(epochMs, nowMs) ? epochMs : null;
}

/** Returns the age of a past event in milliseconds, at least 0; null if its stored time is missing or implausible. */
export function ageMs(epochMs: number | null, nowMs: number): number | null {
  const knownMs = plausibleTime(epochMs, nowMs);
  return knownMs === null ? null : Math.max(0, nowMs - knownMs);
}
