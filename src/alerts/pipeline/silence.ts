import { isoTime } from '../../core/clock.ts';
import { fullName, type RuleName } from '../../core/text/alert-words.ts';
import { matchesPattern } from '../../core/text/patterns.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { silences } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, eq, gt, isNull, lte, or, prepared, sql } from '../../ledger/store/schema/drizzle.ts';
import { findsGrowth, isSystemRule } from '../rules/rules.ts';
import { compareFigures } from '../state/alert-figures.ts';
import { countsUntilMs } from './time-intervals.ts';

export interface MuteSubject {
  rule: RuleName;
  /** What is wrong with our own work; null for what usage does. */
  cause?: string | null;
  tenantId: string | null;
  period: string | null;
  credits: bigint | null;
}

export type MuteRow = Pick<typeof silences.$inferSelect, 'kind' | 'rule' | 'tenant' | 'period' | 'upToCredits'>;

export interface Mutes {
  by(subject: MuteSubject): { id: string; untilMs: number } | null;
  /** Up to what it was planned to grow, by each plan that it has grown beyond, the lowest first. */
  passed(subject: MuteSubject): bigint[];
}

const silencesInForce = prepared((db) => {
  const isOfWorkspace = or(isNull(silences.workspaceKey), eq(silences.workspaceKey, sql.placeholder('workspaceKey')));
  const hasBegun = or(isNull(silences.beginsAt), lte(silences.beginsAt, sql.placeholder('now')));
  const isInForce = and(hasBegun, gt(silences.until, sql.placeholder('now')), isNull(silences.endedAt));
  return db.select().from(silences).where(and(isOfWorkspace, isInForce)).orderBy(asc(silences.silenceKey));
});

/** Reads them; a pattern for tenants or periods fits subjects without one only when it is `*`. */
export function readMutes(connection: LedgerDb, workspaceKey: number | null, nowMs: number): Mutes {
  const inForce = silencesInForce(connection).all({ workspaceKey, now: isoTime(nowMs) });
  const rows = inForce.flatMap((row) => {
    const untilMs = countsUntilMs(row, nowMs, Date.parse(row.until));
    return untilMs === null ? [] : [{ ...row, untilMs }];
  });
  return {
    by(subject) {
      const row = rows.find((each) => mutes(each, subject));
      return row === undefined ? null : { id: row.silenceId, untilMs: row.untilMs };
    },
    passed: (subject) =>
      rows
        .filter((each) => isBeyond(each, subject) && mutes({ ...each, upToCredits: null }, subject))
        .flatMap(({ upToCredits }) => (upToCredits === null ? [] : [upToCredits]))
        .sort(compareFigures),
  };
}

function isBeyond({ upToCredits }: MuteRow, { credits }: MuteSubject): boolean {
  return upToCredits !== null && credits !== null && credits > upToCredits;
}

/** Whether a silence or plan covers a subject. Our own faults are muted by their full name alone, or by that and the cause. */
export function mutes(row: MuteRow, { rule, cause = null, tenantId, period, credits }: MuteSubject): boolean {
  if (row.rule.includes('*') && isSystemRule(rule)) return false;
  if (row.kind === 'plan' && !findsGrowth(rule)) return false;
  if (row.upToCredits !== null && credits !== null && credits > row.upToCredits) return false;
  return (
    (matchesPattern(row.rule, rule) || row.rule === fullName(rule, cause)) &&
    matchesPattern(row.tenant, tenantId ?? '') &&
    matchesPattern(row.period, period ?? '')
  );
}
