import { countAlerts, countOpenAlerts } from '../alerts/state/open-alerts.ts';
import type { Config } from '../config/types.ts';
import { isoTime } from '../core/clock.ts';
import { type CronSchedule, createSlotFinder, nextSlot, type SlotSpan, scheduleText } from '../core/cron.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { asc, preparedSql, query } from '../ledger/store/schema/drizzle.ts';
import { financeFreshness, type financeRuns } from '../ledger/store/schema/finance-views.ts';
import { nextAttemptMs, type SlotHistory } from '../queue/slots.ts';
import type { createSlotHistory } from './schedules.ts';
import { isStale, type StalenessLimits, type SyncFacts, staleAfterMs } from './staleness.ts';

type WorkspaceStatus = typeof financeFreshness.$inferSelect & {
  last_run: LastRun | null;
  open_alerts: number;
};

const LAST_RUN = [
  'run_id',
  'kind',
  'status',
  'from_period',
  'to_period',
  'started_at',
  'finished_at',
  'pages',
  'records',
  'entries',
  'error_code',
  'error_message',
] as const;

export type LastRun = Pick<typeof financeRuns.$inferSelect, (typeof LAST_RUN)[number]>;

/** Selects the last run of each workspace. */
const selectLastRuns = preparedSql(
  `SELECT w.workspace_id, ${LAST_RUN.map((column) => `r.${column}`).join(', ')}
   FROM workspaces w JOIN runs r
     ON r.run_key = (SELECT l.run_key FROM runs l WHERE l.workspace_key = w.workspace_key ORDER BY l.run_key DESC LIMIT 1)`,
);

/** Selects retired workspaces, which the view `finance_freshness` omits, with the columns of that view. */
const SELECT_RETIRED = `SELECT w.workspace_id, r.finished_at AS last_complete_run_at, l.started_at AS last_attempt_at,
    l.status AS last_status, min(p.period) AS covers_from, max(p.period) AS covers_to
  FROM workspaces w
  LEFT JOIN runs r ON r.run_key = (SELECT max(run_key) FROM runs WHERE workspace_key = w.workspace_key AND status = 'applied')
  LEFT JOIN runs l ON l.run_key = (SELECT max(run_key) FROM runs WHERE workspace_key = w.workspace_key)
  LEFT JOIN periods p ON p.workspace_key = w.workspace_key AND p.covered_run_key IS NOT NULL
  WHERE w.ended_seq IS NOT NULL GROUP BY w.workspace_id ORDER BY w.workspace_id`;

export function readWorkspaceStatuses(connection: LedgerDb): WorkspaceStatus[] {
  const open = Map.groupBy(countAlerts(connection), ({ workspaceId }) => workspaceId);
  const lastRuns = new Map<string, LastRun>();
  for (const { workspace_id, ...run } of selectLastRuns(connection).all() as (LastRun & { workspace_id: string })[]) {
    lastRuns.set(workspace_id, run);
  }
  const read = query(connection).select().from(financeFreshness).orderBy(asc(financeFreshness.workspace_id)).all();
  const ended = connection.prepare(SELECT_RETIRED).all() as typeof read;
  return [...read, ...ended].map((row) => ({
    ...row,
    last_run: lastRuns.get(row.workspace_id) ?? null,
    open_alerts: countOpenAlerts(open.get(row.workspace_id) ?? []),
  }));
}

export function countAlertsAboutLedger(connection: LedgerDb): number {
  return countOpenAlerts(countAlerts(connection).filter(({ workspaceId }) => workspaceId === null));
}

/** The numbers of notifications that have not been delivered, by their state. */
export interface OutboxCounts {
  /**
   * Notifications that are being sent, that wait to be composed, that wait for others of their group, or that wait for
   * a retry.
   */
  pending: number;
  /** Notifications that wait for a daily summary and have not failed. */
  held: number;
  /** Notifications that are no longer attempted. */
  dead: number;
}

const COUNT_UNCOMPOSED =
  'SELECT count(*) FROM alert_notified WHERE pending IS NOT NULL AND delivery_key IS NULL AND given_up = 0';
const IS_HELD = "batch IS 'digest' AND failures = 0";
const selectCounts = preparedSql(
  `SELECT (SELECT count(*) FROM deliveries WHERE due_at IS NOT NULL) + (${COUNT_UNCOMPOSED} AND NOT (${IS_HELD})) AS pending,
     (${COUNT_UNCOMPOSED} AND ${IS_HELD}) AS held, (SELECT count(*) FROM deliveries WHERE state = 'dead') AS dead`,
);

export function countUndelivered(connection: LedgerDb): OutboxCounts {
  return selectCounts(connection).get() as OutboxCounts;
}

/** Workspace states, worst first. */
const WORKSPACE_STATES = ['stale', 'failed', 'never', 'fresh', 'ended', 'not_configured'] as const;
export type WorkspaceState = (typeof WORKSPACE_STATES)[number];

export interface WorkspaceLine extends WorkspaceStatus {
  name: string;
  configured: boolean;
  /**
   * `stale`: no complete run for longer than its cron allows. `failed`: the last run failed, but the last complete run is
   * recent enough.
   */
  state: WorkspaceState;
  /**
   * ISO time of the next attempt. Null for a workspace that is retired or not configured. Also null after the service
   * refused the last run because of too many requests: the error message of that run contains the time.
   */
  next_attempt_at: string | null;
}

const NEVER_SYNCED = {
  last_complete_run_at: null,
  last_attempt_at: null,
  last_status: null,
  covers_from: null,
  covers_to: null,
  last_run: null,
  open_alerts: 0,
} as const;

interface LineSources {
  factsOf: (workspaceId: string) => SyncFacts;
  /** Returns the time at which the workspace's waiting job was enqueued; null if no job is waiting. */
  waitingSince: (workspaceId: string, lastAttemptAtMs: number | null) => number | null;
  historyOf: ReturnType<typeof createSlotHistory>;
}

/** Lists the configured workspaces in the order of the configuration, then the other workspaces of the ledger. */
export function listWorkspacesToShow(
  config: Config,
  stored: readonly WorkspaceStatus[],
  { factsOf, waitingSince, historyOf }: LineSources,
  nowMs: number,
): WorkspaceLine[] {
  const byId = new Map(stored.map((status) => [status.workspace_id, status]));
  const limits = new Map<string, number>();
  for (const workspace of config.workspaces) {
    const key = scheduleText(workspace);
    if (!limits.has(key)) limits.set(key, staleAfterMs(workspace, nowMs));
  }
  // Slots are computed once for each schedule, because parsing a schedule takes longer than all the rest, and most
  // workspaces have the same schedule.
  const slotsOf = new Map<string, SlotTimes>();
  const slotsAround = (schedule: CronSchedule): SlotTimes => {
    const key = scheduleText(schedule);
    const known = slotsOf.get(key) ?? slotTimes(schedule, nowMs);
    slotsOf.set(key, known);
    return known;
  };
  const configured = config.workspaces.map((workspace): WorkspaceLine => {
    const { id, name, runMinutes } = workspace;
    const status = byId.get(id) ?? { ...NEVER_SYNCED, workspace_id: id };
    byId.delete(id);
    const bounds = { staleAfterMs: limits.get(scheduleText(workspace)) ?? 0, runMs: runMinutes * 60_000 };
    const facts = factsOf(id);
    const waitingSinceMs = waitingSince(id, facts.lastAttemptAtMs);
    const state = stateOf(status, { facts, waitingSinceMs }, bounds, nowMs);
    const history = historyOf({ workspaceId: id, kind: 'scheduled' });
    const hasNoAttempt = state === 'ended' || status.last_run?.error_code === 'rate_limited';
    const nextMs = hasNoAttempt ? null : nextAttempt(slotsAround(workspace), history, nowMs);
    return { ...status, name, configured: true, state, next_attempt_at: nextMs === null ? null : isoTime(nextMs) };
  });
  const left = [...byId.values()].map((status): WorkspaceLine => {
    const state = factsOf(status.workspace_id).ended ? 'ended' : 'not_configured';
    return { ...status, name: status.workspace_id, configured: false, state, next_attempt_at: null };
  });
  return [...configured, ...left];
}

/** The latest slot of a schedule and the slot after it. If the schedule has had no slot so far, only the next slot. */
type SlotTimes = { span: SlotSpan } | { span: null; nextMs: number };

function slotTimes(schedule: CronSchedule, nowMs: number): SlotTimes {
  const span = createSlotFinder(schedule)(nowMs);
  return span === null ? { span, nextMs: nextSlot(schedule, nowMs) } : { span };
}

/** Returns the time of the next attempt; null if the cron expression never matches. */
function nextAttempt(slots: SlotTimes, history: SlotHistory, nowMs: number): number | null {
  const atMs = slots.span === null ? slots.nextMs : nextAttemptMs(slots.span, history, nowMs);
  return Number.isFinite(atMs) ? atMs : null;
}

function stateOf(
  status: WorkspaceStatus,
  { facts, waitingSinceMs }: { facts: SyncFacts; waitingSinceMs: number | null },
  bounds: StalenessLimits,
  nowMs: number,
): WorkspaceState {
  const { last_complete_run_at: completeAt, last_status: lastStatus } = status;
  if (facts.ended) return 'ended';
  if (completeAt === null) return lastStatus === 'failed' ? 'failed' : 'never';
  if (isStale(facts, { waitingSinceMs, upMs: Number.POSITIVE_INFINITY }, bounds, nowMs)) return 'stale';
  return lastStatus === 'failed' ? 'failed' : 'fresh';
}

/**
 * Sorts workspaces by state, worst first, and those with the same state by the number of open alerts, most first.
 * Workspaces that are equal in both keep their order.
 */
export function sortWorstFirst(lines: readonly WorkspaceLine[]): WorkspaceLine[] {
  const rank = ({ state }: WorkspaceLine) => WORKSPACE_STATES.indexOf(state);
  return lines.toSorted((a, b) => rank(a) - rank(b) || Math.sign(b.open_alerts - a.open_alerts));
}
