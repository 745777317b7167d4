import { isoTime } from './clock.ts';

/**
 * Helpers for stored times after the clock was set back. A past event that is stored as more than a minute in the
 * future has an unknown time: a task with an unknown last run is due, and data of unknown age is not fresh. Times that
 * a person chose, such as the end of a silence, are used unchanged.
 */

/** The allowed difference between the clocks of several machines, and for small corrections of one clock. */
export const CLOCK_SLACK_MS = 60_000;

/** Reports whether an event can have happened at that time, in milliseconds since the epoch. */
export function canHaveHappened(epochMs: number, nowMs: number): boolean {
  return epochMs <= nowMs + CLOCK_SLACK_MS;
}

/** Returns the latest plausible time of a past event, as ISO-8601 UTC. A later stored time counts as unknown. */
export function latestKnown(nowMs: number): string {
  return isoTime(nowMs + CLOCK_SLACK_MS);
}

/** Returns the time of an event, or null if it is unknown. */
export function knownTime(epochMs: number | null, nowMs: number): number | null {
  return epochMs !== null && canHaveHappened(epochMs, nowMs) ? epochMs : null;
}

/** Returns the age of an event in milliseconds, at least 0, or null if it is unknown. */
export function ageMs(epochMs: number | null, nowMs: number): number | null {
  const knownMs = knownTime(epochMs, nowMs);
  return knownMs === null ? null : Math.max(0, nowMs - knownMs);
}
