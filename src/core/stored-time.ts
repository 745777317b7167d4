import { isoTime } from './clock.ts';

/**
 * What a stored time may still tell when the clock has been set back since. A time of something that happened that lies
 * more than a minute ahead counts as unknown: what is due is due then, and of unknown age is not fresh. What a person has
 * set, such as the end of a silence, stands.
 */

/** Clocks of several machines agree to this, and small corrections stay within it. */
export const CLOCK_SLACK_MS = 60_000;

/** Whether something can have happened at that time, milliseconds since the epoch. */
export function canHaveHappened(epochMs: number, nowMs: number): boolean {
  return epochMs <= nowMs + CLOCK_SLACK_MS;
}

/** The latest time at which something can have happened, ISO-8601 UTC: what is stored as later is unknown. */
export function latestKnown(nowMs: number): string {
  return isoTime(nowMs + CLOCK_SLACK_MS);
}

/** When something happened; null when that is unknown. */
export function knownTime(epochMs: number | null, nowMs: number): number | null {
  return epochMs !== null && canHaveHappened(epochMs, nowMs) ? epochMs : null;
}

/** How long ago something happened, at least 0; null when that is unknown. Milliseconds. */
export function ageMs(epochMs: number | null, nowMs: number): number | null {
  const knownMs = knownTime(epochMs, nowMs);
  return knownMs === null ? null : Math.max(0, nowMs - knownMs);
}
