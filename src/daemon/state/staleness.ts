import { timesAfter } from '../../core/cron.ts';
import { DAY_MS, HOUR_MS } from '../../core/durations.ts';
import { ageMs, knownTime } from '../../core/stored-time.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';

export interface SyncFacts {
  /** When its last complete run ended, milliseconds since the epoch; null when there never was one. */
  lastCompleteRunAtMs: number | null;
  lastAttemptAtMs: number | null;
  running: boolean;
  /** A run has failed since one was applied. */
  failed: boolean;
  ended: boolean;
}

export interface StaleBounds {
  staleAfterMs: number;
  runMs: number;
}

interface FactsRow {
  completeAt: string | null;
  attemptAt: string | null;
  status: string | null;
  failed: number;
  ended: number;
}

/** Runs that somebody stopped are no failures. */
const SELECT_FACTS = `
  SELECT last_complete_run_at AS completeAt, last_attempt_at AS attemptAt, last_status AS status, EXISTS (
    SELECT 1 FROM runs r
    WHERE r.workspace_key = w.workspace_key AND r.status NOT IN ('running', 'applied')
      AND r.run_key > coalesce(
        (SELECT p.run_key FROM runs p WHERE p.workspace_key = w.workspace_key AND p.status = 'applied'
         ORDER BY p.run_key DESC LIMIT 1), 0)
      AND coalesce(r.error_code, '') NOT IN ('stopping', 'cancelled')
  ) AS failed, w.ended_seq IS NOT NULL AS ended
  FROM workspaces w LEFT JOIN finance_freshness USING (workspace_id) WHERE workspace_id = ?`;

/** Returns what reads the facts of a workspace; of one that the ledger does not know they are empty. */
export function syncFactsReader(connection: LedgerDb): (workspaceId: string) => SyncFacts {
  const select = connection.prepare(SELECT_FACTS);
  return (workspaceId) => {
    const row = select.get(workspaceId) as FactsRow | undefined;
    return {
      lastCompleteRunAtMs: timeOf(row?.completeAt),
      lastAttemptAtMs: timeOf(row?.attemptAt),
      running: row?.status === 'running',
      failed: Number(row?.failed ?? 0) === 1,
      ended: Number(row?.ended ?? 0) === 1,
    };
  };
}

function timeOf(at: string | null | undefined): number | null {
  return typeof at === 'string' ? Date.parse(at) : null;
}

/** Whether a job that was put in line at `sinceMs` waits for its place still: an attempt since then has used it up. */
export function stillWaits(sinceMs: number, lastAttemptAtMs: number | null, nowMs: number): boolean {
  return (knownTime(lastAttemptAtMs, nowMs) ?? Number.NEGATIVE_INFINITY) < sinceMs;
}

/**
 * Whether a workspace is stale through a fault of its service or of ours: nothing was applied for longer than its
 * schedule allows, and a run has failed, or none has come although none waits. A run that reads for the first time since
 * then, or waits for its place since `waitingSinceMs`, is given as long as a run may take. A daemon gives the workspaces as
 * long from its own start on, which is `upMs` ago.
 */
export function isStale(
  facts: SyncFacts,
  { waitingSinceMs, upMs }: { waitingSinceMs: number | null; upMs: number },
  { staleAfterMs, runMs }: StaleBounds,
  nowMs: number,
): boolean {
  const unchangedMs = ageMs(facts.lastCompleteRunAtMs, nowMs) ?? Number.POSITIVE_INFINITY;
  if (facts.ended || Math.min(unchangedMs, upMs) <= staleAfterMs) return false;
  if (facts.failed) return true;
  const underWayMs = ageMs(facts.running ? facts.lastAttemptAtMs : waitingSinceMs, nowMs);
  return underWayMs === null || underWayMs > runMs;
}

/** A week and a day: every pause that a cron expression makes at night or on certain weekdays lies within. */
const LONGEST_SPAN_MS = 8 * DAY_MS;
/** Each hour or day of these is like the next. */
const SPANS_MS = [
  [/^\S+ \* \* \* \*$/, HOUR_MS],
  [/ \* \* \*$/, DAY_MS],
] as const;
/** Expressions that come due more seldom still show a few pauses. */
const MIN_SLOTS = 4;

/** A tick may come late and the run takes its time. */
const STALE_GRACE_MS = 60_000;

/** Without a complete run for this long a workspace is stale: two of the longest pauses of its cron, and a minute. */
export function staleAfterMs(cron: string, nowMs: number): number {
  return 2 * longestPauseMs(cron, nowMs) + STALE_GRACE_MS;
}

/**
 * The longest pause, in milliseconds, between the next slots of a five-field cron expression in UTC. It is the pause
 * that counts, not the usual distance: working hours only must not look like an outage every night. Throws on an
 * expression that cannot be read: the configuration was checked before.
 */
export function longestPauseMs(cron: string, nowMs: number): number {
  const spanMs = SPANS_MS.find(([shape]) => shape.test(cron))?.[1] ?? LONGEST_SPAN_MS;
  const slots = timesAfter(cron, nowMs);
  const firstMs = slots.next().value ?? nowMs;
  let longestMs = 0;
  let lastMs = firstMs;
  let seen = 1;
  for (const slotMs of slots) {
    longestMs = Math.max(longestMs, slotMs - lastMs);
    lastMs = slotMs;
    seen += 1;
    if (seen >= MIN_SLOTS && lastMs - firstMs >= spanMs) break;
  }
  return longestMs;
}
