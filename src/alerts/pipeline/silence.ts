import { isoTime } from '../../core/clock.ts';
import { type RuleName, ruleNameWithCause } from '../../core/text/alert-words.ts';
import { matchesPattern } from '../../core/text/patterns.ts';
import { activeUntilMs } from '../../core/time-intervals.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { silences } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, eq, gt, isNull, lte, or, prepared, sql } from '../../ledger/store/schema/drizzle.ts';
import { findsGrowth, isSystemRule } from '../rules/rules.ts';
import { compareFigures } from '../state/alert-figures.ts';

/** The facts about an alert that silences and plans match. */
export interface SilenceSubject {
  rule: RuleName;
  /** The cause of a system alert; null for alerts about usage. */
  cause?: string | null;
  tenantId: string | null;
  period: string | null;
  credits: bigint | null;
}

export type SilencePattern = Pick<typeof silences.$inferSelect, 'kind' | 'rule' | 'tenant' | 'period' | 'upToCredits'>;

export interface SilenceResult {
  /** The silence or plan that mutes the alert, and when it ends; null if none does. */
  silence: { id: string; untilMs: number } | null;
  /** Limits of the plans that the alert has exceeded, in credits, lowest first. */
  passedLimits: bigint[];
}

/** A function that returns which active silence or plan mutes an alert, and which plans the alert has exceeded. */
export type SilenceMatcher = (subject: SilenceSubject) => SilenceResult;

const activeSilences = prepared((db) => {
  const isOfWorkspace = or(isNull(silences.workspaceKey), eq(silences.workspaceKey, sql.placeholder('workspaceKey')));
  const hasBegun = or(isNull(silences.beginsAt), lte(silences.beginsAt, sql.placeholder('now')));
  const isActive = and(hasBegun, gt(silences.until, sql.placeholder('now')), isNull(silences.endedAt));
  return db.select().from(silences).where(and(isOfWorkspace, isActive)).orderBy(asc(silences.silenceKey));
});

/**
 * Reads the active silences and plans of a workspace, and returns the function that matches alerts with them. An alert
 * without a tenant or period matches only the pattern `*`.
 */
export function readSilences(connection: LedgerDb, workspaceKey: number | null, nowMs: number): SilenceMatcher {
  const stored = activeSilences(connection).all({ workspaceKey, now: isoTime(nowMs) });
  const rows = stored.flatMap((row) => {
    const untilMs = activeUntilMs(row, nowMs, Date.parse(row.until));
    return untilMs === null ? [] : [{ ...row, untilMs }];
  });
  return (subject) => {
    const row = rows.find((each) => silenceCovers(each, subject));
    return {
      silence: row === undefined ? null : { id: row.silenceId, untilMs: row.untilMs },
      passedLimits: rows
        .filter((each) => hasPassed(each, subject) && silenceCovers({ ...each, upToCredits: null }, subject))
        .flatMap(({ upToCredits }) => (upToCredits === null ? [] : [upToCredits]))
        .sort(compareFigures),
    };
  };
}

function hasPassed({ upToCredits }: SilencePattern, { credits }: SilenceSubject): boolean {
  return upToCredits !== null && credits !== null && credits > upToCredits;
}

/**
 * Reports whether a silence or plan covers an alert. It covers a system alert only if its rule is named in full, with
 * or without the cause: `*` is not enough.
 */
export function silenceCovers(
  row: SilencePattern,
  { rule, cause = null, tenantId, period, credits }: SilenceSubject,
): boolean {
  if (row.rule.includes('*') && isSystemRule(rule)) return false;
  if (row.kind === 'plan' && !findsGrowth(rule)) return false;
  if (row.upToCredits !== null && credits !== null && credits > row.upToCredits) return false;
  return (
    (matchesPattern(row.rule, rule) || row.rule === ruleNameWithCause(rule, cause)) &&
    matchesPattern(row.tenant, tenantId ?? '') &&
    matchesPattern(row.period, period ?? '')
  );
}
