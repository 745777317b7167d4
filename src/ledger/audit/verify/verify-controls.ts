import Database from 'better-sqlite3';
import type { LedgerConnection } from '../../store/file/open.ts';
import { rowDigest } from '../../store/file/row-digest.ts';
import { schemaObjects } from '../../store/file/schema-objects.ts';
import { GUARDED_TABLES, type GuardedTable, guardedText, ofRow } from '../../store/schema/guards.ts';
import { migrateInMemory } from '../../store/schema/migrate.ts';
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

/** Made when it is first asked for: it takes as long as a small ledger's other checks, and stays the same. */
let expected: ReadonlyMap<string, string | null> | null = null;

/**
 * Tables, views and triggers are those that the migrations make, word by word: a `finance_*` view that was rewritten
 * shows wrong figures over a sound ledger, and without its triggers a ledger is no longer append-only. Indexes that
 * somebody added are harmless.
 */
export function checkSchema(connection: LedgerConnection): Fault[] {
  const found = readSchema(connection);
  expected ??= expectedSchema();
  const faults: Fault[] = [];
  const add = (message: string): void => {
    faults.push({ check: 'schema', runId: null, entryId: null, message });
  };
  for (const [name, sql] of expected) {
    if (!found.has(name)) add(`the ${name} is missing`);
    else if (found.get(name) !== sql) add(`the ${name} is not the one of this version`);
  }
  for (const name of found.keys()) {
    if (name.startsWith('trigger') && !expected.has(name)) add(`the ${name} is not of this program`);
  }
  return faults.slice(0, FAULTS_A_CHECK);
}

function expectedSchema(): Map<string, string | null> {
  const connection = new Database(':memory:');
  try {
    migrateInMemory(connection);
    return readSchema(connection);
  } finally {
    connection.close();
  }
}

function readSchema(connection: LedgerConnection): Map<string, string | null> {
  const objects = schemaObjects(connection).filter(({ type }) => type !== 'index');
  return new Map(objects.map(({ type, name, sql }) => [`${type} ${name}`, sql]));
}
