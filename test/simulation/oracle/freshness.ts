import { PromiseBroken } from './fault.ts';

/** What a daemon says of a workspace, and what is so. */
export interface SaidOfFreshness {
  workspaceId: string;
  /** What `/readyz`, metrics and status say. */
  stale: boolean;
  /** Since when the daemon has run, by the world. */
  daemonSinceMs: number;
  /** When the last run was published, by the world; null: never. */
  lastRunMs: number | null;
  /** The longest pause between two slots of its cron. */
  pauseMs: number;
  /** Whether the daemon's clock shows the world's time, and did when the last run was published. */
  clockRight: boolean;
  nowMs: number;
}

/** As documented: without a complete run for two of the longest pauses and a minute, a workspace is stale. */
export function staleAfterMs(pauseMs: number): number {
  return 2 * pauseMs + 60_000;
}

/** Looks come at intervals, and a run is stale a moment before or after. */
const SLACK_MS = 11 * 60_000;

/** A workspace is said to be fresh only while it is, and stale only when it is. */
export function checkFreshness(said: SaidOfFreshness): void {
  const { workspaceId, stale, nowMs, lastRunMs, pauseMs, daemonSinceMs, clockRight } = said;
  const limitMs = staleAfterMs(pauseMs);
  const ageMs = nowMs - Math.max(lastRunMs ?? 0, daemonSinceMs);
  if (!stale && ageMs > limitMs + SLACK_MS && clockRight) {
    throw new PromiseBroken(
      'what is old is not fresh',
      `${workspaceId} was read ${minutes(ageMs)} minutes ago and counts as fresh`,
    );
  }
  if (stale && ageMs < limitMs - SLACK_MS && clockRight) {
    throw new PromiseBroken(
      'what is fresh is not stale',
      `${workspaceId} was read ${minutes(ageMs)} minutes ago and counts as stale`,
    );
  }
}

function minutes(ms: number): number {
  return Math.round(ms / 60_000);
}
