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
  /** Time of the last complete reading, ISO-8601 UTC; null before the first. */
  asOf: string | null;
  /** Charges, corrections and manual lines by currency. */
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

/** The latest months of the ledger up to a month, the latest first. */
export function latestMonths(connection: LedgerDb, until: Period, limit: number): Period[] {
  return monthNames(connection).all(until, limit) as Period[];
}

/** Sums of months, kept while they hold: summing a month reads all its tenants. */
const keptTotals = keptByMonth<UsageSum & { money: MoneySum[] }>();
const keptForecasts = keptByMonth<MonthForecast | null>();

/**
 * Returns a function that reads the totals of each workspace that has a month. The caller may pause between two
 * workspaces.
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

/** Reads the forecast of each workspace for an open month; the forecast of a closed one is its total. */
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
