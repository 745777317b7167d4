import { once } from '../../core/one-at-a-time.ts';
import type { Period } from '../../core/period.ts';
import { forecastMonth, type MonthForecast } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { preparedSql } from '../../ledger/store/schema/drizzle.ts';
import { type MoneySum, moneySumReader } from '../../ledger/store/sum-money.ts';
import { sumUsage, type UsageSum } from '../../ledger/store/sum-usage.ts';
import { type KeptMonth, keptByMonth, monthStates } from './kept-months.ts';

/** The usage and money of one workspace in a month. */
export interface WorkspaceMonthTotals extends UsageSum {
  workspaceId: string;
  closed: boolean;
  /** The time of the last complete reading of the month, ISO-8601 UTC; null before the first reading. */
  asOf: string | null;
  /** The sums of charges, corrections and manual lines, by currency. */
  money: MoneySum[];
}

interface StoredMonth extends KeptMonth {
  workspaceId: string;
  asOf: string | null;
}

const monthsNamed = preparedSql(
  `SELECT w.workspace_id AS workspaceId, w.workspace_key AS workspaceKey, p.period_key AS periodKey, p.closed_seq AS closedSeq, r.finished_at AS asOf
   FROM periods p JOIN workspaces w USING (workspace_key) LEFT JOIN runs r ON r.run_key = p.covered_run_key
   WHERE p.period = ? ORDER BY w.workspace_id`,
);

const monthNames = preparedSql(
  'SELECT DISTINCT period FROM periods WHERE period <= ? ORDER BY period DESC LIMIT ?',
  'pluck',
);

/** Returns the latest months in the ledger that are not after `until`, the latest first. */
export function latestMonths(connection: LedgerDb, until: Period, limit: number): Period[] {
  return monthNames(connection).all(until, limit) as Period[];
}

/**
 * Cached totals of months. They are computed again only if the month's data changes, because this reads all tenants.
 */
const keptTotals = keptByMonth<UsageSum & { money: MoneySum[] }>();
const keptForecasts = keptByMonth<MonthForecast | null>();

/**
 * Returns a function that yields a month's totals for each workspace that has data for the month. The caller may pause
 * between two workspaces.
 */
export function monthReader(connection: LedgerDb): (period: Period) => Generator<WorkspaceMonthTotals> {
  const stateOf = monthStates(connection);
  return (period) => workspaceMonths(connection, period, stateOf);
}

function* workspaceMonths(
  connection: LedgerDb,
  period: Period,
  stateOf: ReturnType<typeof monthStates>,
): Generator<WorkspaceMonthTotals> {
  const sumsOf = once(() => moneySumReader(connection));
  const months = monthsNamed(connection).all(period) as StoredMonth[];
  for (const month of months) {
    const { workspaceId, periodKey, closedSeq, asOf } = month;
    const totals = keptTotals(connection, periodKey, {
      state: stateOf(month),
      read: () => ({
        ...sumUsage(connection, periodKey, closedSeq === null ? 'now' : 'closed'),
        money: sumsOf()(periodKey),
      }),
    });
    yield { ...totals, workspaceId, closed: closedSeq !== null, asOf };
  }
}

/**
 * Yields the forecast of each workspace for a month. Yields null for a workspace that has closed the month, because the
 * month's total is final.
 */
export function* workspaceForecasts(connection: LedgerDb, period: Period): Generator<MonthForecast | null> {
  const stateOf = monthStates(connection);
  const months = monthsNamed(connection).all(period) as StoredMonth[];
  for (const month of months) {
    const { workspaceId, periodKey, closedSeq, asOf } = month;
    if (closedSeq !== null) yield null;
    else {
      yield keptForecasts(connection, periodKey, {
        state: stateOf(month),
        read: () => forecastMonth(connection, { workspaceId, period, periodKey: BigInt(periodKey), asOf }),
      });
    }
  }
}
