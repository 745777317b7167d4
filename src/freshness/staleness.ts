import { type CronSchedule, timesAfter } from '../core/cron.ts';
import { DAY_MS, HOUR_MS } from '../core/durations.ts';
import { ageMs, plausibleTime } from '../core/stored-time.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { preparedSql } from '../ledger/store/schema/drizzle.ts';

/** Facts about the runs of a workspace, from which its freshness is computed. */
export interface SyncFacts {
  /** End of the last complete run, in milliseconds since the epoch; null if there was none. */
  lastCompleteRunAtMs: number | null;
  lastAttemptAtMs: number | null;
  running: boolean;
  /** True if a run has failed since the last applied run. */
  failed: boolean;
  /** True if the workspace is retired. */
  ended: boolean;
}

/** The time limits of a workspace, in milliseconds. */
export interface StalenessLimits {
  /** The workspace is stale if more than this time has passed since its last complete run. */
  staleAfterMs: number;
  /** The longest time that a run may take. */
  runMs: number;
}

interface FactsRow {
  workspaceId: string;
  completeAt: string | null;
  attemptAt: string | null;
  status: string | null;
  failed: number;
  ended: number;
}

// Runs that were stopped or cancelled do not count as failed.
const SELECT_FACTS = `
  SELECT workspace_id AS workspaceId, last_complete_run_at AS completeAt, last_attempt_at AS attemptAt, last_status AS status, EXISTS (
    SELECT 1 FROM runs r
    WHERE r.workspace_key = w.workspace_key AND r.status NOT IN ('running', 'applied')
      AND r.run_key > coalesce(
        (SELECT p.run_key FROM runs p WHERE p.workspace_key = w.workspace_key AND p.status = 'applied'
         ORDER BY p.run_key DESC LIMIT 1), 0)
      AND coalesce(r.error_code, '') NOT IN ('stopping', 'cancelled')
  ) AS failed, w.ended_seq IS NOT NULL AS ended
  FROM workspaces w LEFT JOIN finance_freshness USING (workspace_id)`;

const selectFacts = preparedSql(SELECT_FACTS);

/**
 * Reads the facts of all workspaces with one statement: a statement for each workspace takes ten times as long. Returns
 * a function that looks up the facts of a workspace. A workspace that is not in the ledger has no runs.
 */
export function readSyncFacts(connection: LedgerDb): (workspaceId: string) => SyncFacts {
  const rows = selectFacts(connection).all() as FactsRow[];
  const byId = new Map(rows.map((row) => [row.workspaceId, row]));
  return (workspaceId) => {
    const row = byId.get(workspaceId);
    return {
      lastCompleteRunAtMs: parsedTime(row?.completeAt),
      lastAttemptAtMs: parsedTime(row?.attemptAt),
      running: row?.status === 'running',
      failed: Number(row?.failed ?? 0) === 1,
      ended: Number(row?.ended ?? 0) === 1,
    };
  };
}

function parsedTime(at: string | null | undefined): number | null {
  return typeof at === 'string' ? Date.parse(at) : null;
}

/**
 * Reports whether a job that was enqueued at `sinceMs` is still waiting, which is true if no attempt has started since.
 */
export function isStillQueued(sinceMs: number, lastAttemptAtMs: number | null, nowMs: number): boolean {
  return (plausibleTime(lastAttemptAtMs, nowMs) ?? Number.NEGATIVE_INFINITY) < sinceMs;
}

/**
 * Reports whether a workspace is stale: its last complete run is older than `staleAfterMs`, and the daemon has been up
 * for longer than that, too (`upMs`). A run that is in progress, or that has been queued since `waitingSinceMs`, first
 * gets the time `runMs`, unless a run has failed since the last applied run. A retired workspace is never stale.
 */
export function isStale(
  facts: SyncFacts,
  { waitingSinceMs, upMs }: { waitingSinceMs: number | null; upMs: number },
  { staleAfterMs, runMs }: StalenessLimits,
  nowMs: number,
): boolean {
  const unchangedMs = ageMs(facts.lastCompleteRunAtMs, nowMs) ?? Number.POSITIVE_INFINITY;
  if (facts.ended || Math.min(unchangedMs, upMs) <= staleAfterMs) return false;
  if (facts.failed) return true;
  const underWayMs = ageMs(facts.running ? facts.lastAttemptAtMs : waitingSinceMs, nowMs);
  return underWayMs === null || underWayMs > runMs;
}

/** Eight days of slots contain the longest gap of a schedule that repeats each day or week. */
const LONGEST_SPAN_MS = 8 * DAY_MS;
/**
 * The time span of slots to examine for cron expressions that match in every hour, and for those that match on every
 * day.
 */
const SPANS_MS = [
  [/^\S+ \* \* \* \*$/, HOUR_MS],
  [/ \* \* \*$/, DAY_MS],
] as const;
/** The least number of slots to examine. It applies to schedules with a few slots a month or year. */
const MIN_SLOTS = 4;

/** Added to the time after which a workspace is stale, because a run may start late and takes time. */
const STALE_GRACE_MS = 60_000;

/**
 * Returns how many milliseconds after its last complete run a workspace becomes stale: twice the longest pause between
 * two slots of its schedule, plus a minute.
 */
export function staleAfterMs(schedule: CronSchedule, nowMs: number): number {
  return 2 * longestPauseMs(schedule, nowMs) + STALE_GRACE_MS;
}

/**
 * Returns the longest pause between the next slots of a schedule, in milliseconds. With the usual pause instead, a
 * schedule for working hours would look like an outage every night. Throws if the cron expression is invalid.
 */
export function longestPauseMs(schedule: CronSchedule, nowMs: number): number {
  const spanMs = SPANS_MS.find(([shape]) => shape.test(schedule.cron))?.[1] ?? LONGEST_SPAN_MS;
  const slots = timesAfter(schedule, nowMs);
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
