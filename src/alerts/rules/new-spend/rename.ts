import { DAY_MS } from '../../../core/durations.ts';
import { roundedSpanMs } from '../../forecast/run-moments.ts';

/** A new tenant is a successor only if it begins within this time after the other tenant's last use. */
const BEGINS_WITHIN_MS = 7 * DAY_MS;
/** Two tenants' usage is read at different times, so the successor may seem to begin this much before the last use. */
const READING_SLACK_MS = DAY_MS;
/**
 * The alert that a tenant stopped waits at most this long for a successor to reach its floor. If the successor does,
 * both alerts are notified together; otherwise, only the stop is.
 */
export const MAX_SUCCESSOR_WAIT_MS = 7 * DAY_MS;

/** Reports whether a new tenant, first seen at `beganMs`, may succeed one that stopped at `lastMs`. */
export function maySucceed({ beganMs, lastMs, nowMs }: { beganMs: number; lastMs: number; nowMs: number }): boolean {
  const apartMs = roundedSpanMs(lastMs, beganMs);
  return apartMs >= -READING_SLACK_MS && apartMs <= BEGINS_WITHIN_MS && roundedSpanMs(beganMs, nowMs) >= DAY_MS;
}

/** Reports whether two daily rates differ by at most a third. Rates of a few days are not more exact. */
export function isSimilarRate(newDaily: bigint, daily: bigint): boolean {
  return daily > 0n && newDaily * 3n >= daily * 2n && newDaily * 3n <= daily * 4n;
}
