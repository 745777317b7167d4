import { spanOf } from '../../forecast/run-moments.ts';

const DAY_MS = 86_400_000;
/** A newcomer that begins later after the last use of another is not its new id. */
const BEGINS_WITHIN_MS = 7 * DAY_MS;
/** The last use of the one and the first of the other are read at different times. */
const SLACK_MS = DAY_MS;
/** So long a stop waits for the newcomer to come to its floor: both are told as one, or the stop is told. */
export const AWAITED_MS = 7 * DAY_MS;

/** Whether a newcomer, seen first at `beganMs`, goes on where another one stopped, which used credits last at `lastMs`. */
export function goesOnFor({ beganMs, lastMs, nowMs }: { beganMs: number; lastMs: number; nowMs: number }): boolean {
  const apartMs = spanOf(lastMs, beganMs);
  return apartMs >= -SLACK_MS && apartMs <= BEGINS_WITHIN_MS && spanOf(beganMs, nowMs) >= DAY_MS;
}

/** By a third more or less: what is used on a few days is no better known. */
export function isOfVolume(newDaily: bigint, daily: bigint): boolean {
  return daily > 0n && newDaily * 3n >= daily * 2n && newDaily * 3n <= daily * 4n;
}
