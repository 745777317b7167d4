import type { Period } from '../../core/period.ts';
import { forecastMonth, type MonthForecast } from '../../ledger/journal/charges/credit-pricer.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { perConnection, preparedSql } from '../../ledger/store/schema/drizzle.ts';
import { type MoneySum, moneySums } from '../../ledger/store/sum-money.ts';
import { sumUsage, type UsageSum } from '../../ledger/store/sum-usage.ts';

/** The usage and money of one workspace in a month. */
export interface WorkspaceMonthTotals extends UsageSum {
  workspaceId: string;
  closed: boolean;
  /** Time of the last complete reading, ISO-8601 UTC; null before the first. */
  asOf: string | null;
  /** Charges, corrections and manual lines by currency. */
  money: MoneySum[];
}

interface StoredMonth {
  workspaceId: string;
  periodKey: number;
  closedSeq: number | null;
  asOf: string | null;
}

const monthsNamed = preparedSql(
  `SELECT w.workspace_id AS workspaceId, p.period_key AS periodKey, p.closed_seq AS closedSeq, r.finished_at AS asOf
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

interface Kept<Value> {
  /** The close of the month, which never changes; for an open month the head of the chain. */
  state: string;
  value: Value;
}

/** Sums of months, kept while they hold: summing a month reads all its tenants. */
const keptTotals = perConnection(() => new Map<number, Kept<UsageSum & { money: MoneySum[] }>>());
const keptForecasts = perConnection(() => new Map<number, Kept<MonthForecast | null>>());

/** Reads the totals of each workspace that has a month. The caller may pause between two workspaces. */
export function* workspaceMonths(connection: LedgerDb, period: Period): Generator<WorkspaceMonthTotals> {
  const sumsOf = moneySums(connection);
  const months = monthsNamed(connection).all(period) as StoredMonth[];
  for (const { workspaceId, periodKey, closedSeq, asOf } of months) {
    const totals = kept(keptTotals(connection), periodKey, totalStateOf(connection, closedSeq), () => ({
      ...sumUsage(connection, periodKey, closedSeq === null ? 'now' : 'closed'),
      money: sumsOf(periodKey),
    }));
    yield { ...totals, workspaceId, closed: closedSeq !== null, asOf };
  }
}

/** Reads the forecast of each workspace for an open month; the forecast of a closed one is its total. */
export function* workspaceForecasts(connection: LedgerDb, period: Period): Generator<MonthForecast | null> {
  const months = monthsNamed(connection).all(period) as StoredMonth[];
  for (const { workspaceId, periodKey, closedSeq, asOf } of months) {
    if (closedSeq !== null) yield null;
    else {
      const month = { workspaceId, period, periodKey: BigInt(periodKey), asOf };
      yield kept(keptForecasts(connection), periodKey, totalStateOf(connection, null), () =>
        forecastMonth(connection, month),
      );
    }
  }
}

function totalStateOf(connection: LedgerDb, closedSeq: number | null): string {
  return closedSeq === null ? headOfChain(connection).digest : `closed ${closedSeq}`;
}

function kept<Value>(values: Map<number, Kept<Value>>, key: number, state: string, read: () => Value): Value {
  const known = values.get(key);
  if (known?.state === state) return known.value;
  const value = read();
  values.set(key, { state, value });
  return value;
}
