import { minutes, PromiseBroken } from './fault.ts';

/** The last applied run of a workspace. */
export interface LastRun {
  /** By the world's time. */
  atMs: number;
  /** By whoever wrote it down. */
  storedMs: number;
}

/** What the program says of a workspace, and what is so. */
export interface SaidOfFreshness {
  workspaceId: string;
  /** What `/readyz`, metrics and status say. */
  stale: boolean;
  /** Since when the daemon that says so has run, by the world; 0 when it is no daemon. */
  sinceMs: number;
  /** Null: never. */
  last: LastRun | null;
  /** The longest pause between two slots of its cron. */
  pauseMs: number;
  /** Since when a job of it has waited or run; null when none does. */
  underWaySinceMs: number | null;
  nowMs: number;
  /** By how much looks at what is due may be later than is usual. */
  lateMs: number;
}

const MINUTE_MS = 60_000;
/** Looks come at intervals, and a run is stale a moment before or after. */
const SLACK_MS = 11 * MINUTE_MS;
/** A run may take so long, or wait for its place, before it counts as one that does not come. */
const RUN_MS = 30 * MINUTE_MS;
/** As documented: a time further ahead counts as unknown until it has come. */
const AHEAD_MS = MINUTE_MS;

/** As documented: without a complete run for two of the longest pauses and a minute, a workspace is stale. */
export function staleAfterMs(pauseMs: number): number {
  return 2 * pauseMs + MINUTE_MS;
}

/** Whether the clock of whoever wrote it down was right. */
export function isDatedRight({ atMs, storedMs }: LastRun): boolean {
  return Math.abs(storedMs - atMs) < MINUTE_MS;
}

/** How long a workspace has been stale for who reads the ledger with a clock that is right; 0 or less when it is not. */
export function overdueMs({ last, pauseMs, nowMs }: Pick<SaidOfFreshness, 'last' | 'pauseMs' | 'nowMs'>): number {
  if (last === null) return nowMs;
  const { atMs, storedMs } = last;
  const countsFromMs = storedMs > nowMs + AHEAD_MS ? atMs : Math.max(atMs, storedMs);
  return nowMs - countsFromMs - staleAfterMs(pauseMs);
}

/** With a clock that is right, a workspace is said to be fresh only while it is, and stale only when it is. */
export function checkFreshness(said: SaidOfFreshness): void {
  const { workspaceId, stale, nowMs, last, pauseMs, sinceMs, underWaySinceMs, lateMs } = said;
  const limitMs = staleAfterMs(pauseMs);
  const overMs = Math.min(overdueMs(said), nowMs - sinceMs - limitMs);
  const isUnderWay = underWaySinceMs !== null && nowMs - underWaySinceMs < RUN_MS + SLACK_MS + lateMs;
  if (!stale && overMs > SLACK_MS + lateMs && !isUnderWay) {
    throw new PromiseBroken('what is old is not fresh', `${workspaceId} is stale for ${minutes(overMs)} minutes`);
  }
  const wasRight = last !== null && isDatedRight(last);
  const ageMs = nowMs - Math.max(last?.atMs ?? 0, sinceMs);
  if (stale && wasRight && ageMs < limitMs - SLACK_MS) {
    throw new PromiseBroken('what is fresh is not stale', `${workspaceId} was read ${minutes(ageMs)} minutes ago`);
  }
}

/** A workspace that has been stale for so long is told of. */
export const TOLD_AFTER_MS = 25 * MINUTE_MS;
