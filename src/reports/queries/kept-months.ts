import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { perConnection, preparedSql } from '../../ledger/store/schema/drizzle.ts';

/** A month whose figures are kept, and what they depend on. */
export interface KeptMonth {
  workspaceKey: number;
  periodKey: number;
  /** Link of the close; null for an open month. */
  closedSeq: number | null;
}

const selectLastEvent = preparedSql('SELECT coalesce(max(event_seq), 0) FROM period_events', 'pluck');
const selectLastChange = preparedSql('SELECT coalesce(max(change_seq), 0) FROM row_changes', 'pluck');
/** Prices, manual lines and names: what people change apart from runs and closes. */
const selectChanges = preparedSql(
  `SELECT max(change_seq) FROM row_changes WHERE change_seq > ? AND table_name IN
     ('rate_cards', 'manual_lines', 'tenant_names', 'charge_corrections')`,
  'pluck',
);
/** The last row change that was looked at, and the last one among them that matters. */
const seenChanges = perConnection((connection) => {
  const last = selectLastChange(connection).get() as number;
  return { seen: last, last };
});

/** Returns the number of the last change that people made. Reads only the changes since the previous call. */
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
 * Returns a function that gives the state of a month as a text. While it is the same, so are the figures of the month. A
 * run of one workspace changes the state of its own open months only. A closed month never changes.
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
 * Returns a cache of one value for each month and connection. `state` has to be read before the value: then a value that
 * is newer than its state is only read again.
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
