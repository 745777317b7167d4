import type { LedgerConnection } from '../../store/file/open.ts';
import { rowDigest } from '../../store/file/row-digest.ts';
import { GUARDED_TABLES, type GuardedTable, guardedText, ofRow } from '../../store/schema/guards.ts';
import { FAULTS_A_CHECK, type Fault } from './fault.ts';

/**
 * Each guarded row is what its last change says: none was changed, added or taken out past the triggers; alerts agree with their
 * transitions. Row changes have no gap; that they are those which the runs have covered is left to the chain.
 */
export function checkControls(connection: LedgerConnection): Fault[] {
  const messages = GUARDED_TABLES.flatMap((guarded) => [...strangeRows(connection, guarded)]);
  messages.push(...strangeAlerts(connection));
  const missing = connection
    .prepare(
      `SELECT c.change_seq - 1 FROM row_changes c
       WHERE NOT EXISTS (SELECT 1 FROM row_changes b WHERE b.change_seq = c.change_seq - 1) AND c.change_seq <> 1
       ORDER BY c.change_seq LIMIT 1`,
    )
    .pluck()
    .get() as number | undefined;
  if (missing !== undefined) messages.push(`row change ${missing} is missing`);
  return messages
    .slice(0, FAULTS_A_CHECK)
    .map((message) => ({ check: 'controls', runId: null, entryId: null, message }));
}

/** An alert is in the state that its last transition has brought it to; its revision counts them. */
function strangeAlerts(connection: LedgerConnection): string[] {
  return connection
    .prepare(
      `SELECT 'alert ' || a.alert_id || ' is ' || a.state || ', its last transition says '
         || coalesce((SELECT t.state FROM alert_transitions t WHERE t.alert_key = a.alert_key ORDER BY t.revision DESC LIMIT 1), 'nothing')
       FROM alerts a
       WHERE a.revision <> (SELECT count(*) FROM alert_transitions t WHERE t.alert_key = a.alert_key)
         OR a.state IS NOT (SELECT t.state FROM alert_transitions t WHERE t.alert_key = a.alert_key AND t.revision = a.revision)
       LIMIT ${FAULTS_A_CHECK}`,
    )
    .pluck()
    .all() as string[];
}

function* strangeRows(connection: LedgerConnection, guarded: GuardedTable): Generator<string, void> {
  const { table, key, label } = guarded;
  const rowKey = ofRow(key, table);
  const lastChange = `SELECT %, max(change_seq) FROM row_changes WHERE table_name = '${table}' GROUP BY row_key`;
  const rows = connection
    .prepare(
      `SELECT ${ofRow(label, table)}, ${guardedText(guarded, table)}, c.row_digest
       FROM ${table} LEFT JOIN (${lastChange.replace('%', 'row_key, row_digest')}) c
         ON c.row_key = CAST(${rowKey} AS TEXT)`,
    )
    .raw()
    .iterate() as IterableIterator<[label: string, text: string, digest: Buffer | null]>;
  let found = 0;
  for (const [row, text, digest] of rows) {
    if (digest !== null && rowDigest(text).equals(digest)) continue;
    yield digest === null ? `${row} was added past the program` : `${row} was changed past the program`;
    found += 1;
    if (found === FAULTS_A_CHECK) return;
  }
  const gone = connection
    .prepare(
      `SELECT row_key FROM (${lastChange.replace('%', 'row_key, row_digest')})
       WHERE row_digest IS NOT NULL AND row_key NOT IN (SELECT CAST(${rowKey} AS TEXT) FROM ${table})
       LIMIT ${FAULTS_A_CHECK}`,
    )
    .pluck()
    .all() as string[];
  for (const row of gone) yield `row ${row} of ${table} was taken out past the program`;
}
