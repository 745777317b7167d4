import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { perConnection, preparedSql } from '../../ledger/store/schema/drizzle.ts';

/** A month of a workspace. Its figures are cached for as long as the data behind them stays the same. */
export interface KeptMonth {
  workspaceKey: number;
  periodKey: number;
  /** The number of the close's link in the chain; null for an open month. */
  closedSeq: number | null;
}

const selectLastEvent = preparedSql('SELECT coalesce(max(event_seq), 0) FROM period_events', 'pluck');
const selectLastChange = preparedSql('SELECT coalesce(max(change_seq), 0) FROM row_changes', 'pluck');
/**
 * Selects the last change that people made since a given change: to prices, manual lines, names or corrections. Runs
 * and closes are not included.
 */
const selectChanges = preparedSql(
  `SELECT max(change_seq) FROM row_changes WHERE change_seq > ? AND table_name IN
     ('rate_cards', 'manual_lines', 'tenant_names', 'charge_corrections')`,
  'pluck',
);
/**
 * Numbers of row changes for each connection. `seen` is the newest row change that was examined; `last` is the last one
 * up to there that affects figures.
 */
const seenChanges = perConnection((connection) => {
  const last = selectLastChange(connection).get() as number;
  return { seen: last, last };
});

/**
 * Returns the number of the last row change that people made. Each call reads only the row changes since the previous
 * call.
 */
function lastChange(connection: LedgerDb): number {
  const known = seenChanges(connection);
  const newest = selectLastChange(connection).get() as number;
  if (newest > known.seen) {
    known.last = (selectChanges(connection).get(known.seen) as number | null) ?? known.last;
    known.seen = newest;
  }
  return known.last;
}

const selectLastRun = preparedSql(
  `SELECT applied_seq FROM runs WHERE workspace_key = ? AND applied_seq IS NOT NULL ORDER BY run_key DESC LIMIT 1`,
  'pluck',
);

/**
 * Returns a function that describes the data behind a month's figures as a text. As long as the text stays the same, so
 * do the figures. A run changes the text only for the open months of its workspace. The text of a closed month never
 * changes.
 */
export function monthStates(connection: LedgerDb): (month: KeptMonth) => string {
  const changes = `${selectLastEvent(connection).get()} ${lastChange(connection)}`;
  const lastRun = selectLastRun(connection);
  const runs = new Map<number, number>();
  return ({ workspaceKey, closedSeq }) => {
    if (closedSeq !== null) return `closed ${closedSeq}`;
    const run = runs.get(workspaceKey) ?? (lastRun.get(workspaceKey) as number | undefined) ?? 0;
    runs.set(workspaceKey, run);
    return `${run} ${changes}`;
  };
}

/**
 * Returns a cache with one value for each month and connection. A cached value is used until the month's `state`
 * changes. The caller must read `state` before the value. If the data changes in between, the value is then read again
 * needlessly, but an outdated value is never used.
 */
export function keptByMonth<Value>(): (
  connection: LedgerDb,
  periodKey: number,
  kept: { state: string; read: () => Value },
) => Value {
  const values = perConnection(() => new Map<number, { state: string; value: Value }>());
  return (connection, periodKey, { state, read }) => {
    const known = values(connection).get(periodKey);
    if (known?.state === state) return known.value;
    const value = read();
    values(connection).set(periodKey, { state, value });
    return value;
  };
}
