import { isoTime } from '../../../core/clock.ts';
import { formatMinute } from '../../../core/date-time.ts';
import { HOUR_MS, MINUTE_MS } from '../../../core/durations.ts';
import { formatMinor, minorDigits, parseMinor } from '../../../core/money.ts';
import { addPeriods, type Period, periodEndMs } from '../../../core/period.ts';
import { latestPlausibleTime } from '../../../core/stored-time.ts';
import { withThousands } from '../../../core/text/words.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { preparedSql } from '../../store/schema/drizzle.ts';
import { periodKeyOf } from '../../store/schema/keys.ts';
import { findPeriod, findWorkspace } from '../../store/subjects.ts';
import { monthTotals } from '../../store/sum-money.ts';
import { findCoveringRun } from './adjustments.ts';

/**
 * The largest accepted difference between a month's total and the total of the previous month: a percentage of the
 * previous total, or an amount in its currency.
 */
export type MaxChange = { percent: number } | { amount: string };

/** The conditions under which a month may be closed. */
export interface ClosingTerms {
  workspaceId: string;
  period: Period;
  /** Hours after the end of a period before it may be closed, because the service may still change its figures. */
  settleHours: number;
  /** The largest accepted change from the previous month; absent or null: any change is accepted. */
  maxChange?: MaxChange | null;
  nowMs: number;
}

/**
 * A reason against closing a period. `not_over`: the period has not ended. `settling`: the service may still change its
 * figures. `unread`: no complete walk (reading of all pages) was made since the period's end. `unproven`: no walk at
 * least 12 h earlier agrees with the latest one. `missing`: records are missing from the latest walk. `change`: the
 * total differs too much from the previous month's.
 */
export interface CloseBlocker {
  kind: 'not_over' | 'settling' | 'unread' | 'unproven' | 'missing' | 'change';
  /** The reason as a sentence for people, without a full stop. */
  reason: string;
}

export interface CloseStanding {
  /** `unknown`: the ledger does not have the period. */
  state: 'unknown' | 'closed' | 'open';
  /** Everything that blocks the close; empty if the period is closed or unknown. */
  blockers: CloseBlocker[];
  /** End of the last complete walk that began after the period's end, ISO-8601 UTC; null if there is none. */
  readAt: string | null;
  /**
   * End of the first walk after which the figures have not changed, ISO-8601 UTC; null if no earlier walk agrees with
   * the latest one.
   */
  unchangedSince: string | null;
}

/** The least number of hours between two complete walks that must agree before a period can be closed. */
const AGREEMENT_HOURS = 12;

const countAbsences = preparedSql('SELECT count(*) FROM absences WHERE period_key = ?', 'pluck');

/**
 * Returns the state of a period and everything that blocks its close now. Both `close` and `month-end` decide by this
 * function alone.
 */
export function findCloseStanding(connection: LedgerDb, terms: ClosingTerms): CloseStanding {
  const { workspaceId, period, settleHours, nowMs } = terms;
  const nothing = { blockers: [], readAt: null, unchangedSince: null };
  const workspaceKey = findWorkspace(connection, workspaceId)?.workspaceKey;
  if (workspaceKey === undefined) return { state: 'unknown', ...nothing };
  const periodKey = periodKeyOf(workspaceKey, period);
  const found = findPeriod(connection, periodKey);
  if (found === undefined && findCoveringRun(connection, workspaceKey, period) === null) {
    return { state: 'unknown', ...nothing };
  }
  const endMs = periodEndMs(period);
  const walks = walksSince(connection, { workspaceKey, periodKey, period, endMs, nowMs });
  const facts = { readAt: walks.readAt, unchangedSince: walks.agreeing?.firstEndedAt ?? null };
  if (found !== undefined && found.closedSeq !== null) return { state: 'closed', blockers: [], ...facts };
  if (nowMs < endMs) {
    const reason = `it is not over: it ends at ${formatMinute(isoTime(endMs))} UTC`;
    return { state: 'open', blockers: [{ kind: 'not_over', reason }], ...facts };
  }
  const blockers: CloseBlocker[] = [];
  const settledMs = endMs + settleHours * HOUR_MS;
  if (nowMs < settledMs) {
    blockers.push({
      kind: 'settling',
      reason: `it settles for ${settleHours} h, until ${formatMinute(isoTime(settledMs))} UTC`,
    });
  }
  blockers.push(...walkBlockers(walks));
  const absent = countAbsences(connection).get(periodKey) as number;
  if (absent > 0) {
    const reason = `${absent} of its records are missing from the latest walk and not yet withdrawn`;
    blockers.push({ kind: 'missing', reason });
  }
  return { state: 'open', blockers: [...blockers, ...changeBlockers(connection, periodKey, terms)], ...facts };
}

/** The complete walks of a period that began after its end. Times are ISO-8601 UTC. */
interface Walks {
  /** End of the last of these walks; null if there is none. */
  readAt: string | null;
  /** The walks that agree with the last one; null if none does. */
  agreeing: { firstEndedAt: string; lastStartedAt: string; earliestEnd: string } | null;
}

const COVERING = `workspace_key = :workspaceKey AND status = 'applied' AND from_period <= :period AND to_period >= :period
  AND started_at >= :end`;
const AGREEING = `${COVERING} AND run_key >= :changedBy AND applied_seq >= :lastChange AND started_at <= :latest`;
// Each of these statements stops at the first matching run, because thousands of runs may cover a period.
const hasRunSince = preparedSql(
  `SELECT 1 FROM runs WHERE workspace_key = ? AND finished_at >= ? AND applied_seq IS NOT NULL LIMIT 1`,
  'pluck',
);
const selectLastEnd = preparedSql(
  `SELECT finished_at FROM runs WHERE ${COVERING} ORDER BY run_key DESC LIMIT 1`,
  'pluck',
);
const selectFirstEnd = preparedSql(`SELECT finished_at FROM runs WHERE ${AGREEING} ORDER BY run_key LIMIT 1`, 'pluck');
const selectLastStart = preparedSql(
  `SELECT started_at FROM runs WHERE ${AGREEING} ORDER BY run_key DESC LIMIT 1`,
  'pluck',
);
const selectEarliestEnd = preparedSql(
  `SELECT finished_at FROM runs INDEXED BY runs_by_time
   WHERE ${AGREEING} AND applied_seq IS NOT NULL AND finished_at >= :end ORDER BY finished_at LIMIT 1`,
  'pluck',
);
// Besides new entries, `unsteady_run_key` counts as a change: that run found a record which an earlier walk had missed,
// so the two walks do not agree.
const selectLastChange = preparedSql(
  `SELECT run_key AS changedBy, applied_seq AS lastChange FROM runs WHERE run_key IN (
     (SELECT run_key FROM usage_entries WHERE entry_id = (SELECT max(entry_id) FROM usage_entries WHERE period_key = :periodKey)),
     (SELECT unsteady_run_key FROM periods WHERE period_key = :periodKey))
   AND applied_seq IS NOT NULL ORDER BY applied_seq DESC LIMIT 1`,
);

/**
 * Finds the complete walks of a period that began after the period's end, and among them the walks that agree with the
 * last one.
 */
function walksSince(
  connection: LedgerDb,
  subject: { workspaceKey: number; periodKey: number; period: Period; endMs: number; nowMs: number },
): Walks {
  const { workspaceKey, periodKey, period, endMs, nowMs } = subject;
  const place = { workspaceKey, period, end: isoTime(endMs) };
  if (hasRunSince(connection).get(workspaceKey, place.end) === undefined) return { readAt: null, agreeing: null };
  const readAt = (selectLastEnd(connection).get(place) as string | undefined) ?? null;
  const change = selectLastChange(connection).get({ periodKey }) as
    | { changedBy: number; lastChange: number }
    | undefined;
  const since = { ...place, changedBy: 0, lastChange: 0, ...change, latest: latestPlausibleTime(nowMs) };
  const firstEndedAt = selectFirstEnd(connection).get(since) as string | undefined;
  if (firstEndedAt === undefined) return { readAt, agreeing: null };
  const lastStartedAt = selectLastStart(connection).get(since) as string;
  // The earliest end is used, because a walk that was made while the clock was ahead is recorded with an end that is
  // too late.
  const earliestEnd = (selectEarliestEnd(connection).get(since) as string | undefined) ?? firstEndedAt;
  return { readAt, agreeing: { firstEndedAt, lastStartedAt, earliestEnd } };
}

function walkBlockers({ agreeing }: Walks): CloseBlocker[] {
  if (agreeing === null) {
    return [{ kind: 'unread', reason: 'no complete walk has been made since the month ended; sync first' }];
  }
  const firstEndMs = Date.parse(agreeing.earliestEnd);
  if (Date.parse(agreeing.lastStartedAt) - firstEndMs >= AGREEMENT_HOURS * HOUR_MS) return [];
  // The time is rounded up, because it is shown to the minute.
  const secondAt = isoTime(firstEndMs + AGREEMENT_HOURS * HOUR_MS + MINUTE_MS - 1);
  const reason =
    `two complete walks ${AGREEMENT_HOURS} h apart must agree: one ended at ${formatMinute(isoTime(firstEndMs))}, ` +
    `sync again after ${formatMinute(secondAt)} UTC`;
  return [{ kind: 'unproven', reason }];
}

/** Returns the blockers of kind `change`; none when the ledger does not have the previous month. */
function changeBlockers(connection: LedgerDb, periodKey: number, terms: ClosingTerms): CloseBlocker[] {
  const { period, maxChange = null } = terms;
  if (maxChange === null || findPeriod(connection, periodKey - 1) === undefined) return [];
  return monthTotals(connection, periodKey).flatMap(({ currency, now: amount, before: previous }): CloseBlocker[] => {
    if (!isAbove({ amount, previous, currency }, maxChange)) return [];
    const words = (minor: bigint) => formatMinor(minor, currency).replace(/^-?\d+/, withThousands);
    const most = 'percent' in maxChange ? `${maxChange.percent}%` : `${maxChange.amount} ${currency}`;
    const reason = `its total of ${words(amount)} ${currency} differs by more than ${most} from ${words(previous)} in ${addPeriods(period, -1)}`;
    return [{ kind: 'change', reason }];
  });
}

/**
 * Reports whether the change exceeds the limit. Compares exact integers, in hundredths of a percent or in minor units,
 * and drops digits of the limit below the currency's minor unit.
 */
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
