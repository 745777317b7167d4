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
  silence: { id: string; untilMs: number } | null;
  /** Limits of the plans that the alert has exceeded, in credits, lowest first. */
  passedLimits: bigint[];
}

/** Matches an alert against the silences and plans that are active now. */
export type Silences = (subject: SilenceSubject) => SilenceResult;

const activeSilences = prepared((db) => {
  const isOfWorkspace = or(isNull(silences.workspaceKey), eq(silences.workspaceKey, sql.placeholder('workspaceKey')));
  const hasBegun = or(isNull(silences.beginsAt), lte(silences.beginsAt, sql.placeholder('now')));
  const isActive = and(hasBegun, gt(silences.until, sql.placeholder('now')), isNull(silences.endedAt));
  return db.select().from(silences).where(and(isOfWorkspace, isActive)).orderBy(asc(silences.silenceKey));
});

/**
 * Reads the active silences and plans of a workspace. A pattern for tenants or periods matches an alert without one only if it is
 * `*`.
 */
export function readSilences(connection: LedgerDb, workspaceKey: number | null, nowMs: number): Silences {
  const stored = activeSilences(connection).all({ workspaceKey, now: isoTime(nowMs) });
  const rows = stored.flatMap((row) => {
    const untilMs = activeUntilMs(row, nowMs, Date.parse(row.until));
    return untilMs === null ? [] : [{ ...row, untilMs }];
  });
  return (subject) => {
    const row = rows.find((each) => covers(each, subject));
    return {
      silence: row === undefined ? null : { id: row.silenceId, untilMs: row.untilMs },
      passedLimits: rows
        .filter((each) => hasPassed(each, subject) && covers({ ...each, upToCredits: null }, subject))
        .flatMap(({ upToCredits }) => (upToCredits === null ? [] : [upToCredits]))
        .sort(compareFigures),
    };
  };
}

function hasPassed({ upToCredits }: SilencePattern, { credits }: SilenceSubject): boolean {
  return upToCredits !== null && credits !== null && credits > upToCredits;
}

/**
 * Reports whether a silence or plan covers an alert. A pattern covers a system alert only if it contains the rule's
 * full name, with or without the cause.
 */
export function covers(
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
