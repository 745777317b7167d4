import { isoTime } from '../../../core/clock.ts';
import { formatMinute } from '../../../core/date-time.ts';
import { HOUR_MS, MINUTE_MS } from '../../../core/durations.ts';
import { formatMinor, minorDigits, parseMinor } from '../../../core/money.ts';
import { addPeriods, type Period, periodEndMs } from '../../../core/period.ts';
import { canHaveHappened } from '../../../core/stored-time.ts';
import { withThousands } from '../../../core/text/words.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { and, asc, count, eq, gte, inArray, lte, max, query } from '../../store/schema/drizzle.ts';
import { periodKeyOf } from '../../store/schema/keys.ts';
import { absences, runs, usageEntries } from '../../store/schema/run-tables.ts';
import { findPeriod, findWorkspace } from '../../store/subjects.ts';
import { moneyOfMonths } from '../../store/sum-money.ts';
import { coveringRun } from './adjustments.ts';

/** How far what a month comes to may be from the month before it: percent of that, or an amount in its currency. */
export type MaxChange = { percent: number } | { amount: string };

/** By what a month is judged that is to be closed. */
export interface ClosingTerms {
  workspaceId: string;
  period: Period;
  /** A period that is over settles for this many hours before it may be closed. */
  settleHours: number;
  /** Absent or null: any change will do. */
  maxChange?: MaxChange | null;
  nowMs: number;
}

/**
 * What speaks against closing a period. `not_over`, `settling`: time alone clears it. `unread`: no complete walk since its end.
 * `unproven`: none that agrees with one long before it. `missing`: records that the latest walk lacks. `change`: it comes to
 * much more, or less, than the month before.
 */
export interface Obstacle {
  kind: 'not_over' | 'settling' | 'unread' | 'unproven' | 'missing' | 'change';
  /** A sentence with its remedy, without a full stop. */
  reason: string;
}

export interface CloseStanding {
  /** `unknown`: the ledger has nothing of the period. */
  state: 'unknown' | 'closed' | 'open';
  /** All of them; none where the period is not open. */
  obstacles: Obstacle[];
  /** When the last complete walk ended that had begun after the period's end, ISO-8601 UTC. */
  readAt: string | null;
  /** When the first of the walks ended that agree with that one. */
  unchangedSince: string | null;
}

/** Two complete walks that agree must lie this far apart to prove that a period has stopped moving. */
const AGREEMENT_HOURS = 12;

/** Whether a period can be closed now, and what speaks against it. `close` and `month-end` ask here, and nowhere else. */
export function closeStanding(connection: LedgerDb, terms: ClosingTerms): CloseStanding {
  const { workspaceId, period, settleHours, nowMs } = terms;
  const nothing = { obstacles: [], readAt: null, unchangedSince: null };
  const workspaceKey = findWorkspace(connection, workspaceId)?.workspaceKey;
  if (workspaceKey === undefined) return { state: 'unknown', ...nothing };
  const periodKey = periodKeyOf(workspaceKey, period);
  const found = findPeriod(connection, periodKey);
  if (found === undefined && coveringRun(connection, workspaceKey, period) === null) {
    return { state: 'unknown', ...nothing };
  }
  const endMs = periodEndMs(period);
  const walks = walksSince(connection, { workspaceKey, periodKey, period, endMs, nowMs });
  const readAt = walks.covering.at(-1)?.finishedAt ?? null;
  const unchangedSince = walks.agreeing[0]?.finishedAt ?? null;
  const facts = { readAt, unchangedSince };
  if (found !== undefined && found.closedSeq !== null) return { state: 'closed', obstacles: [], ...facts };
  if (nowMs < endMs) {
    const reason = `it is not over: it ends at ${formatMinute(isoTime(endMs))} UTC`;
    return { state: 'open', obstacles: [{ kind: 'not_over', reason }], ...facts };
  }
  const obstacles: Obstacle[] = [];
  const settledMs = endMs + settleHours * HOUR_MS;
  if (nowMs < settledMs) {
    obstacles.push({
      kind: 'settling',
      reason: `it settles for ${settleHours} h, until ${formatMinute(isoTime(settledMs))} UTC`,
    });
  }
  obstacles.push(...walksAgainst(walks.agreeing));
  const missing = query(connection).select({ count: count() }).from(absences).where(eq(absences.periodKey, periodKey));
  const absent = missing.get()?.count ?? 0;
  if (absent > 0) {
    const reason = `${absent} of its records are missing from the latest walk and not yet withdrawn`;
    obstacles.push({ kind: 'missing', reason });
  }
  return { state: 'open', obstacles: [...obstacles, ...changesAgainst(connection, periodKey, terms)], ...facts };
}

type Run = typeof runs.$inferSelect;

/** The complete walks of a period that began after its end, and those of them that found what the last one has. */
function walksSince(
  connection: LedgerDb,
  subject: { workspaceKey: number; periodKey: number; period: Period; endMs: number; nowMs: number },
): { covering: Run[]; agreeing: Run[] } {
  const { workspaceKey, periodKey, period, endMs, nowMs } = subject;
  const db = query(connection);
  const isCovering = and(lte(runs.fromPeriod, period), gte(runs.toPeriod, period), gte(runs.startedAt, isoTime(endMs)));
  const covering = db
    .select()
    .from(runs)
    .where(and(eq(runs.workspaceKey, workspaceKey), eq(runs.status, 'applied'), isCovering))
    .orderBy(asc(runs.appliedSeq))
    .all();
  const lastEntry = db.select({ entryId: max(usageEntries.entryId) }).from(usageEntries);
  const isLast = inArray(usageEntries.entryId, lastEntry.where(eq(usageEntries.periodKey, periodKey)));
  // A walk that missed a record did not agree with the one that showed it again, although no entry says so.
  const changedBy = [
    db.select().from(usageEntries).where(isLast).get()?.runKey ?? 0,
    findPeriod(connection, periodKey)?.unsteadyRunKey ?? 0,
  ];
  const changes = db
    .select({ lastSeq: max(runs.appliedSeq) })
    .from(runs)
    .where(inArray(runs.runKey, changedBy));
  const lastChange = changes.get()?.lastSeq ?? 0;
  const isKnown = (run: Run) => canHaveHappened(Date.parse(run.startedAt), nowMs);
  return { covering, agreeing: covering.filter((run) => (run.appliedSeq ?? 0) >= lastChange && isKnown(run)) };
}

function walksAgainst(agreeing: readonly Run[]): Obstacle[] {
  const [first] = agreeing;
  const last = agreeing.at(-1);
  if (first === undefined || last === undefined) {
    return [{ kind: 'unread', reason: 'no complete walk has been made since it ended; sync first' }];
  }
  // No walk ended later than one after it: its clock was ahead.
  const firstEndMs = Math.min(...agreeing.map(({ finishedAt }) => Date.parse(finishedAt ?? '')));
  if (Date.parse(last.startedAt) - firstEndMs >= AGREEMENT_HOURS * HOUR_MS) return [];
  // What is said to the minute must not come before its seconds.
  const secondAt = isoTime(firstEndMs + AGREEMENT_HOURS * HOUR_MS + MINUTE_MS - 1);
  const reason =
    `two complete walks ${AGREEMENT_HOURS} h apart must agree: one has ended at ${formatMinute(isoTime(firstEndMs))}, ` +
    `sync again after ${formatMinute(secondAt)} UTC`;
  return [{ kind: 'unproven', reason }];
}

/** A month before it that the ledger has nothing of is nothing to compare with. */
function changesAgainst(connection: LedgerDb, periodKey: number, terms: ClosingTerms): Obstacle[] {
  const { period, maxChange = null } = terms;
  if (maxChange === null || findPeriod(connection, periodKey - 1) === undefined) return [];
  return moneyOfMonths(connection, periodKey).flatMap(({ currency, now: amount, before: previous }): Obstacle[] => {
    if (!isAbove({ amount, previous, currency }, maxChange)) return [];
    const words = (minor: bigint) => formatMinor(minor, currency).replace(/^-?\d+/, withThousands);
    const most = 'percent' in maxChange ? `${maxChange.percent}%` : `${maxChange.amount} ${currency}`;
    const reason = `it comes to ${words(amount)} ${currency} after ${words(previous)} of ${addPeriods(period, -1)}, a change of more than ${most}`;
    return [{ kind: 'change', reason }];
  });
}

/** In hundredths of a percent and in minor units, exactly; what is finer than the currency counts for nothing. */
function isAbove(
  { amount, previous, currency }: { amount: bigint; previous: bigint; currency: string },
  most: MaxChange,
): boolean {
  const size = (minor: bigint) => (minor < 0n ? -minor : minor);
  const change = size(amount - previous);
  if ('percent' in most) return change * 10_000n > BigInt(Math.round(most.percent * 100)) * size(previous);
  const [whole = '0', part = ''] = most.amount.split('.');
  return change > (parseMinor(`${whole}.${part.slice(0, minorDigits(currency)).padEnd(1, '0')}`, currency) ?? 0n);
}
