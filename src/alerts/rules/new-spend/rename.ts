import { DAY_MS } from '../../../core/durations.ts';
import { spanOf } from '../../forecast/run-moments.ts';

/** A new tenant that begins later than this after another's last use is not its successor. */
const BEGINS_WITHIN_MS = 7 * DAY_MS;
/** The last use of the one and the first of the other are read at different times. */
const READING_SLACK_MS = DAY_MS;
/** A stop waits this long for a successor to reach its floor. Then both are notified as one, or the stop alone. */
export const AWAITED_MS = 7 * DAY_MS;

/** Reports whether a new tenant, first seen at `beganMs`, may succeed one that stopped at `lastMs`. */
export function goesOnFor({ beganMs, lastMs, nowMs }: { beganMs: number; lastMs: number; nowMs: number }): boolean {
  const apartMs = spanOf(lastMs, beganMs);
  return apartMs >= -READING_SLACK_MS && apartMs <= BEGINS_WITHIN_MS && spanOf(beganMs, nowMs) >= DAY_MS;
}

/** Reports whether two daily rates differ by at most a third; a few days do not show more. */
export function isOfVolume(newDaily: bigint, daily: bigint): boolean {
  return daily > 0n && newDaily * 3n >= daily * 2n && newDaily * 3n <= daily * 4n;
}
