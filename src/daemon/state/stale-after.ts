import { longestPauseMs } from './cadence.ts';

/** A tick may come late and the run takes its time. */
const STALE_GRACE_MS = 60_000;

/** Without a complete run for this long a workspace is stale: two of the longest pauses of its cron, and a minute. */
export function staleAfterMs(cron: string, nowMs: number): number {
  return 2 * longestPauseMs(cron, nowMs) + STALE_GRACE_MS;
}
