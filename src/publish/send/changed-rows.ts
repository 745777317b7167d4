import { createHash } from 'node:crypto';
import { OPEN_ALERT_STATES_SQL } from '../../core/text/alert-words.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { query } from '../../ledger/store/query.ts';
import { periodEvents } from '../../ledger/store/schema/close-tables.ts';
import { and, eq, gt, isNull } from '../../ledger/store/schema/drizzle.ts';
import { OWN_VALUES } from '../../ledger/store/schema/identity.ts';
import { rowChanges } from '../../ledger/store/schema/run-tables.ts';
import { periods } from '../../ledger/store/schema/workspace-tables.ts';
import { MIRRORS, mirror } from '../replica/mirrors.ts';
import { copyLines, type Rows } from './copy-rows.ts';
import type { Marks } from './position.ts';

/** Small tables whose rows change without a mark: each is sent as a whole when any of it has changed. */
const WHOLE = MIRRORS.filter(({ mirrored }) => mirrored === 'whole').map(({ name }) => name);

/** Tables to which rows are only added, with their key, and the mark of the same name that counts them. */
export const ADDED = MIRRORS.filter(({ mirrored }) => mirrored === 'added').map(({ name, key: [column = ''] }) => {
  const mark = column.replace(/_(.)/, (_, letter: string) => letter.toUpperCase()) as keyof Marks;
  return { name, column, mark };
});

/** Everything of a table. */
export function allRows(name: string): Rows {
  const where = name === 'ledger_meta' ? ` WHERE r.name NOT IN ${OWN_VALUES}` : '';
  return { mirror: mirror(name), from: `${name} r${where}` };
}

/** The tables that are sent as a whole, with a digest of their rows. */
export function* wholeTables(connection: LedgerConnection): Generator<{ rows: Rows; digest: string }, void> {
  for (const name of WHOLE) {
    const rows = allRows(name);
    const hash = createHash('sha256');
    const from = `${rows.from} ORDER BY ${rows.mirror.key.join(', ')}`;
    for (const line of copyLines(connection, { ...rows, from }, 0)) hash.update(line).update('\n');
    yield { rows, digest: hash.digest('hex') };
  }
}

/** What was added since. */
export function addedRows(marks: Marks): Rows[] {
  const rows = ADDED.map(({ name, column, mark }): Rows => {
    const from = `${name} r WHERE r.${column} > ? ORDER BY r.${column}`;
    return { mirror: mirror(name), from, values: [marks[mark]] };
  });
  rows.push(addedByChange('charge_corrections', 'r.correction_id = %', marks));
  rows.push(addedByChange('alert_transitions', 'r.alert_key = %1 AND r.revision = %2', marks));
  rows.push(addedByChange('alert_feedback', 'r.feedback_key = %', marks));
  return rows;
}

/** Rows of a guarded table that have changed; each takes the place of the one with its key. */
export interface ChangedRows {
  rows: Rows;
  /** SQL over the replica's table that names the rows to take out; `$2` is an array of keys. */
  where: string;
  /** The keys of changed rows, also of those that are gone. */
  keys: readonly unknown[];
}

/** `headMoved`: a run may have changed figures of open alerts that no row change speaks of. */
export function* changedRows(
  connection: LedgerConnection,
  marks: Marks,
  headMoved: boolean,
): Generator<ChangedRows, void> {
  const keysOf = (table: string, more = ''): unknown[] =>
    connection
      .prepare(`SELECT row_key FROM row_changes WHERE change_seq > ? AND table_name = '${table}' ${more}`)
      .pluck()
      .all(marks.changeSeq);
  const open = headMoved
    ? `UNION SELECT CAST(alert_key AS TEXT) FROM alerts WHERE state IN ${OPEN_ALERT_STATES_SQL}`
    : 'GROUP BY 1';
  const by = (table: string, match: string, changed: string): Rows => ({
    mirror: mirror(table),
    from: `(SELECT row_key FROM row_changes WHERE change_seq > ? AND table_name = '${table}' ${changed}) k
      CROSS JOIN ${table} r ON ${match}`,
    values: [marks.changeSeq],
  });
  yield {
    rows: by('alerts', 'r.alert_key = CAST(k.row_key AS INTEGER)', open),
    where: 'alert_key = ANY ($2::bigint[])',
    keys: keysOf('alerts', open),
  };
  yield {
    rows: by(
      'alert_told',
      `r.alert_key = CAST(k.row_key AS INTEGER) AND r.alert_key || ':' || r.channel = k.row_key`,
      'GROUP BY 1',
    ),
    where: "(alert_key || ':' || channel) = ANY ($2::text[])",
    keys: keysOf('alert_told', 'GROUP BY 1'),
  };
  yield {
    rows: by('outbox', 'r.notification_id = k.row_key', 'GROUP BY 1'),
    where: 'notification_id = ANY ($2::text[])',
    keys: keysOf('outbox', 'GROUP BY 1'),
  };
  yield {
    rows: by('tenant_names', `r.tenant_key = ${part(1)} AND r.after_seq = ${part(2)}`, 'GROUP BY 1'),
    where: "(tenant_key || ':' || after_seq) = ANY ($2::text[])",
    keys: keysOf('tenant_names', 'GROUP BY 1'),
  };
}

/** The state of every key that has new entries. */
export function changedState(table: string, marks: Marks): Rows {
  return {
    mirror: mirror(table),
    from: `(SELECT DISTINCT period_key, tenant_key FROM usage_entries WHERE entry_id > ?) k
      CROSS JOIN ${table} r ON r.period_key = k.period_key AND r.tenant_key = k.tenant_key`,
    values: [marks.entryId],
  };
}

/**
 * Periods whose closed figures or charges were written as a whole since: those that were closed or reopened, and all that
 * are open when the rate cards have changed.
 */
export function rewrittenPeriods(connection: LedgerConnection, marks: Marks): { closed: number[]; charged: number[] } {
  const db = query(connection);
  const keysOf = (rows: readonly { periodKey: number }[]) => [...new Set(rows.map(({ periodKey }) => periodKey))];
  const closed = keysOf(db.select().from(periodEvents).where(gt(periodEvents.eventSeq, marks.eventSeq)).all());
  const ofCards = and(gt(rowChanges.changeSeq, marks.changeSeq), eq(rowChanges.tableName, 'rate_cards'));
  const repriced = db.select().from(rowChanges).where(ofCards).limit(1).get();
  if (repriced === undefined) return { closed, charged: closed };
  const open = keysOf(db.select().from(periods).where(isNull(periods.closedSeq)).all());
  return { closed, charged: [...new Set([...closed, ...open])] };
}

export function ofPeriod(table: string, periodKey: number): Rows {
  return { mirror: mirror(table), from: `${table} r WHERE r.period_key = ?`, values: [periodKey] };
}

/** Runs that have begun since, or have ended since they were published as `running`, and their certificates. */
export function changedRuns(table: 'runs' | 'walks', runKeys: readonly number[]): Rows {
  return {
    mirror: mirror(table),
    from: `json_each(?) k CROSS JOIN ${table} r ON r.run_key = k.value`,
    values: [JSON.stringify(runKeys)],
  };
}

function addedByChange(table: string, match: string, { changeSeq }: Marks): Rows {
  const on = match.replace('%1', part(1)).replace('%2', part(2)).replace('%', 'CAST(c.row_key AS INTEGER)');
  return {
    mirror: mirror(table),
    from: `row_changes c CROSS JOIN ${table} r ON ${on} WHERE c.change_seq > ? AND c.table_name = '${table}'`,
    values: [changeSeq],
  };
}

/** One half of a row key `A:B`. */
function part(which: 1 | 2): string {
  const at = "instr(row_key, ':')";
  return `CAST(${which === 1 ? `substr(row_key, 1, ${at} - 1)` : `substr(row_key, ${at} + 1)`} AS INTEGER)`;
}
