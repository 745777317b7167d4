import type { Config } from '../../config/types.ts';
import { isoTime } from '../../core/clock.ts';
import { createSlotFinder, nextAttemptMs, nextSlot, type SlotHistory } from '../../queue/slots.ts';
import type { createSlotHistory } from '../slot-history.ts';
import { staleAfterMs } from './stale-after.ts';
import { isStale, type StaleBounds, type SyncFacts } from './staleness.ts';
import type { WorkspaceStatus } from './status.ts';

/** From what is worst to what is well; one that was ended, or is not configured any more, is nobody's concern. */
export const WORKSPACE_STATES = ['stale', 'failed', 'never', 'fresh', 'ended', 'not_configured'] as const;
export type WorkspaceState = (typeof WORKSPACE_STATES)[number];

export interface WorkspaceLine extends WorkspaceStatus {
  /** The configured name; the id when there is none. */
  name: string;
  configured: boolean;
  /** `stale`: no complete run for longer than its cron allows; `failed`: the last run did, and the one before is fresh. */
  state: WorkspaceState;
  /**
   * When a daemon tries it next, an ISO time; null for one that is not configured or was ended, and after a refusal for too
   * many requests, whose message says it.
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

export interface LineSources {
  factsOf: (workspaceId: string) => SyncFacts;
  /** Since when a job of the workspace has waited for its place; null when none does. */
  waitingSince: (workspaceId: string, lastAttemptAtMs: number | null) => number | null;
  historyOf: ReturnType<typeof createSlotHistory>;
}

/** The configured workspaces in their order, then those that the ledger knows from before. */
export function workspaceLines(
  config: Config,
  stored: readonly WorkspaceStatus[],
  { factsOf, waitingSince, historyOf }: LineSources,
  nowMs: number,
): WorkspaceLine[] {
  const byId = new Map(stored.map((status) => [status.workspace_id, status]));
  const limits = new Map(config.workspaces.map(({ cron }) => [cron, 0]));
  for (const cron of limits.keys()) limits.set(cron, staleAfterMs(cron, nowMs));
  const configured = config.workspaces.map(({ id, name, cron, runMinutes }): WorkspaceLine => {
    const status = byId.get(id) ?? { ...NEVER_SYNCED, workspace_id: id };
    byId.delete(id);
    const bounds = { staleAfterMs: limits.get(cron) ?? 0, runMs: runMinutes * 60_000 };
    const facts = factsOf(id);
    const waitingSinceMs = waitingSince(id, facts.lastAttemptAtMs);
    const state = stateOf(status, { facts, waitingSinceMs }, bounds, nowMs);
    const history = historyOf({ workspaceId: id, kind: 'scheduled' });
    const isSaid = state === 'ended' || status.last_run?.error_code === 'rate_limited';
    const nextMs = isSaid ? null : nextAttempt(cron, history, nowMs);
    return { ...status, name, configured: true, state, next_attempt_at: nextMs === null ? null : isoTime(nextMs) };
  });
  const left = [...byId.values()].map((status): WorkspaceLine => {
    const state = factsOf(status.workspace_id).ended ? 'ended' : 'not_configured';
    return { ...status, name: status.workspace_id, configured: false, state, next_attempt_at: null };
  });
  return [...configured, ...left];
}

/** Null for an expression that names no time. */
function nextAttempt(cron: string, history: SlotHistory, nowMs: number): number | null {
  const span = createSlotFinder(cron)(nowMs);
  const atMs = span === null ? nextSlot(cron, nowMs) : nextAttemptMs(span, history, nowMs);
  return Number.isFinite(atMs) ? atMs : null;
}

function stateOf(
  status: WorkspaceStatus,
  { facts, waitingSinceMs }: { facts: SyncFacts; waitingSinceMs: number | null },
  bounds: StaleBounds,
  nowMs: number,
): WorkspaceState {
  const { last_complete_run_at: completeAt, last_status: lastStatus } = status;
  if (facts.ended) return 'ended';
  if (completeAt === null) return lastStatus === 'failed' ? 'failed' : 'never';
  if (isStale(facts, { waitingSinceMs, upMs: Number.POSITIVE_INFINITY }, bounds, nowMs)) return 'stale';
  return lastStatus === 'failed' ? 'failed' : 'fresh';
}

/** What is wrong first, then what has open alerts; else as configured. */
export function worstFirst(lines: readonly WorkspaceLine[]): WorkspaceLine[] {
  const rank = ({ state }: WorkspaceLine) => WORKSPACE_STATES.indexOf(state);
  return lines.toSorted((a, b) => rank(a) - rank(b) || Math.sign(b.open_alerts - a.open_alerts));
}
