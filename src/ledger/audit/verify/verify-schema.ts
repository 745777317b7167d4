import Database from 'better-sqlite3';
import type { LedgerConnection } from '../../store/file/open.ts';
import { schemaObjects } from '../../store/file/schema-objects.ts';
import { migrateInMemory } from '../../store/schema/migrate.ts';
import { FAULTS_A_CHECK, type Fault } from './fault.ts';

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
