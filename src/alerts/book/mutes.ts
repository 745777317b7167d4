import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import type { silences } from '../../ledger/schema/alert-tables.ts';
import type { Exact } from '../../ledger/schema/rows.ts';
import { type RuleName, SELF_RULES } from '../rules/rule.ts';
import { matchesPattern } from './patterns.ts';

/** The rules that find growth; a plan expects it. */
export const GROWTH_RULES: readonly RuleName[] = ['jump', 'new_spend', 'workspace_jump'];

/** What a notification would be about. */
export interface MuteSubject {
  rule: RuleName;
  /** Null for the workspace, or for ourselves. */
  tenantId: string | null;
  period: string | null;
  /** Credits. */
  credits: bigint | null;
}

/** What a silence or a plan covers. */
export type MuteRow = Pick<
  Exact<typeof silences.$inferSelect>,
  'silenceId' | 'kind' | 'rule' | 'tenant' | 'period' | 'upToCredits'
>;

/**
 * Reads what is muted in a workspace at a moment. The answer names the silence or plan that mutes a subject, or is null;
 * a pattern for tenants or periods fits subjects without one only when it is `*`.
 */
export function readMutes(
  connection: Database.Database,
  workspaceKey: number,
  nowMs: number,
): (subject: MuteSubject) => string | null {
  const rows = connection
    .prepare(
      `SELECT silence_id AS silenceId, kind, rule, tenant, period, up_to_credits AS upToCredits FROM silences
       WHERE (workspace_key IS NULL OR workspace_key = ?) AND until > ? AND ended_at IS NULL ORDER BY silence_key`,
    )
    .safeIntegers()
    .all(workspaceKey, isoTime(nowMs)) as MuteRow[];
  return (subject) => rows.find((row) => mutes(row, subject))?.silenceId ?? null;
}

/** Whether a silence or plan covers a subject. Our own faults are muted by their full name alone. */
export function mutes(row: Omit<MuteRow, 'silenceId'>, { rule, tenantId, period, credits }: MuteSubject): boolean {
  if (row.rule.includes('*') && (SELF_RULES as readonly RuleName[]).includes(rule)) return false;
  if (row.kind === 'plan' && !GROWTH_RULES.includes(rule)) return false;
  if (row.upToCredits !== null && credits !== null && credits > row.upToCredits) return false;
  return (
    matchesPattern(row.rule, rule) &&
    matchesPattern(row.tenant, tenantId ?? '') &&
    matchesPattern(row.period, period ?? '')
  );
}
