import type { Statement } from 'better-sqlite3';
import { syncPath } from '../../ledger/store/file/ledger-file.ts';
import { type LedgerConnection, openForWriting } from '../../ledger/store/file/open.ts';
import { schemaObjects } from '../../ledger/store/file/schema-objects.ts';
import { migrateLedger, schemaVersion } from '../../ledger/store/schema/migrate.ts';
import type { ReplicaClient } from '../connect.ts';
import { MIRRORS, type Mirror } from '../replica/mirrors.ts';
import { ReplicaError } from '../replica-error.ts';
import { findReplica, type ReplicaState } from '../send/position.ts';
import type { PublishedCheckpoint } from '../send/recent-checkpoints.ts';
import { replicaRows, type Value } from './replica-rows.ts';

export interface RebuildOrder {
  client: ReplicaClient;
  ledgerId: string;
  /** The file to make, in a folder of the caller's own. */
  file: string;
  /** Of this program. */
  version: string;
  nowMs: number;
  signal: AbortSignal;
}

export interface Rebuilt {
  /** What the replica held at that moment. */
  held: ReplicaState;
  /** The signed heads that it keeps, in their order. */
  checkpoints: PublishedCheckpoint[];
}

/**
 * Makes a ledger file of what the replica holds of a ledger at one moment, as it was but for leases and senders under way,
 * whose holders are gone. Nothing is checked here but what tables demand. Throws ReplicaError `not_in_replica`,
 * `replica_other_schema`, `replica_faulty`.
 */
export async function rebuildLedger(order: RebuildOrder): Promise<Rebuilt> {
  const { client, file, version, nowMs } = order;
  return client.transaction(
    async () => {
      const held = await findReplica(client, order.ledgerId);
      if (held === null || held.publishedAt === '') throw notThere(order.ledgerId);
      const checkpoints = await client.query<{ seq: bigint; note: string }>(
        'SELECT seq, note FROM checkpoints WHERE ledger_key = $1 ORDER BY seq',
        [held.ledgerKey],
      );
      const connection = openForWriting(file);
      try {
        migrateLedger(connection, file, version, nowMs);
        requireSameSchema(connection, held);
        await fill(connection, held, order);
        connection.pragma('journal_mode = DELETE');
      } finally {
        connection.close();
      }
      syncPath(file);
      return { held, checkpoints: checkpoints.map(({ seq, note }) => ({ seq: Number(seq), note })) };
    },
    { snapshot: true },
  );
}

async function fill(connection: LedgerConnection, held: ReplicaState, order: RebuildOrder): Promise<void> {
  const { client, signal } = order;
  // They would write changes of their own, and refuse rows that are right in the end only.
  const triggers = schemaObjects(connection).filter(({ type }) => type === 'trigger');
  connection.pragma('foreign_keys = OFF');
  connection.pragma('synchronous = OFF');
  connection.exec('BEGIN IMMEDIATE');
  for (const { name } of triggers) connection.exec(`DROP TRIGGER ${name}`);
  connection.exec('DELETE FROM ledger_meta');
  for (const mirror of MIRRORS) {
    const insert = prepareInsert(connection, mirror);
    for await (const row of replicaRows(client, mirror, held.ledgerKey)) insertRow(insert, mirror, row);
    signal.throwIfAborted();
  }
  connection.exec('UPDATE leases SET released = 1');
  connection.exec('UPDATE outbox SET claimed_until = NULL');
  for (const { sql } of triggers) connection.exec(String(sql));
  connection.exec('COMMIT');
  const id = connection.prepare("SELECT value FROM ledger_meta WHERE name = 'ledger_id'").pluck().get();
  if (id === held.ledgerId) return;
  throw faulty(`ledger_meta (name "ledger_id"): value is ${JSON.stringify(id)}, the replica calls it ${held.ledgerId}`);
}

function insertRow(insert: Statement, { name, columns, key }: Mirror, row: Value[]): void {
  try {
    insert.run(row);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_CONSTRAINT'))) throw error;
    const at = (column: string): string => `${column} ${row[columns.findIndex((one) => one.name === column)]}`;
    throw faulty(`${name} (${key.map(at).join(', ')}): no ledger can hold this row: ${error.message}`);
  }
}

function faulty(message: string): ReplicaError {
  return new ReplicaError('replica_faulty', message, {
    hint: '`usage-ledger publish --replace`, on the machine of the ledger, puts it in the place of what the replica holds',
  });
}

function prepareInsert(connection: LedgerConnection, { name, columns }: Mirror) {
  const places = columns.map(() => '?').join(', ');
  return connection.prepare(
    `INSERT INTO ${name} (${columns.map((column) => column.name).join(', ')}) VALUES (${places})`,
  );
}

function requireSameSchema(connection: LedgerConnection, { schemaAt }: ReplicaState): void {
  if (schemaAt === schemaVersion(connection)) return;
  throw new ReplicaError('replica_other_schema', 'the replica was published by another version of usage-ledger', {
    hint: 'install the version that published it, here, and update afterwards',
  });
}

function notThere(id: string): ReplicaError {
  return new ReplicaError('not_in_replica', `the replica holds nothing of ledger ${id}`, {
    hint: '`usage-ledger status --replica` lists the ledgers that it holds; `usage-ledger publish` sends this one',
  });
}
