import pg from 'pg';
import type { ReplicaClient } from '../connect.ts';
import { ReplicaError } from '../replica-error.ts';
import { type Drift, findDrift } from './drift.ts';
import { columnsInPostgres, createMirror } from './mirrors.ts';
import { INDEXES, OWN } from './statements.ts';
import { mendViews, withoutViews } from './views.ts';

/** Raised whenever the replica is made otherwise than before: a program of an older version leaves it alone then. */
export const REPLICA_VERSION = 1_795_622_400_000;
/** Names the lock under which one publisher at a time changes the schema. */
const LOCK = 'usage-ledger replica schema';

/**
 * Brings the replica's schema to that of this version, in one transaction; publishers that do so at once wait for each
 * other. Refuses one of a newer version. What had to be made anew is sent again by the next publish of each ledger. Returns what
 * it has mended of a replica of this version, in words.
 */
export async function migrateReplica(client: ReplicaClient, schema: string): Promise<readonly string[]> {
  if ((await versionOf(client)) === REPLICA_VERSION && (await replicaDrift(client)).length === 0) return [];
  return client.transaction(async () => {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`${LOCK} ${schema}`]);
    // Where the schema is there, the right to make one is not needed.
    const found = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
    if (found.length === 0) await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
    await client.query(
      'CREATE TABLE IF NOT EXISTS schema_migrations (created_at bigint PRIMARY KEY, hash text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())',
    );
    const before = await versionOf(client);
    const drift = await findDrift(client);
    await mend(client, drift);
    await client.query("INSERT INTO schema_migrations (created_at, hash) VALUES ($1, '') ON CONFLICT DO NOTHING", [
      REPLICA_VERSION,
    ]);
    return before === REPLICA_VERSION ? drift.words : [];
  });
}

/** What the replica has otherwise than this version makes it, in words. Changes nothing. Refuses one of a newer version. */
export async function replicaDrift(client: ReplicaClient): Promise<readonly string[]> {
  const version = await versionOf(client);
  if (version < REPLICA_VERSION) return version === 0 ? [] : ['the schema is the one of an older version'];
  return client.transaction(async () => (await findDrift(client)).words, { undone: true });
}

/** Throws unless the replica is of this version. */
export async function requireCurrentReplica(client: ReplicaClient, schema: string): Promise<void> {
  if ((await versionOf(client)) === REPLICA_VERSION) return;
  throw new ReplicaError('replica_outdated', `the schema ${JSON.stringify(schema)} holds no replica of this version`, {
    hint: 'check publish.url and publish.schema; `usage-ledger publish` makes or migrates the replica',
  });
}

async function mend(client: ReplicaClient, { short, strange, drops, ends }: Drift): Promise<void> {
  const mendTables = async (): Promise<void> => {
    for (const sql of [...drops, ...ends, ...OWN.map((own) => own.sql)]) await client.query(sql);
    for (const { mirror, missing } of short) {
      const types = columnsInPostgres(mirror);
      for (const name of missing)
        await client.query(`ALTER TABLE ${mirror.name} ADD COLUMN ${pg.escapeIdentifier(name)} ${types.get(name)}`);
    }
    for (const mirror of strange) await client.query(`DROP TABLE IF EXISTS ${mirror.name}; ${createMirror(mirror)}`);
  };
  if (drops.length + strange.length === 0) await mendTables();
  else await withoutViews(client, mendTables);
  // What is left of ledgers that are not known any more is never taken for another's.
  await client.query(
    `SELECT setval(pg_get_serial_sequence('ledgers', 'ledger_key'), max(ledger_key)) FROM ledger_meta
     HAVING max(ledger_key) > (SELECT coalesce(max(ledger_key), 0) FROM ledgers)`,
  );
  // What was in them is in the ledgers only: a ledger of another schema than the replica knows is sent as a whole.
  if (short.length + strange.length > 0) await client.query('UPDATE ledgers SET schema_at = 0');
  for (const { sql } of INDEXES) await client.query(sql);
  await mendViews(client, (await findDrift(client)).views);
}

/** The version that the replica is of; 0: there is none. */
async function versionOf(client: ReplicaClient): Promise<number> {
  const [found] = await client.query<{ there: boolean }>(
    "SELECT to_regclass('schema_migrations') IS NOT NULL AS there",
  );
  if (found?.there !== true) return 0;
  const [row] = await client.query<{ latest: bigint | null }>(
    'SELECT max(created_at) AS latest FROM schema_migrations',
  );
  const latest = Number(row?.latest ?? 0n);
  if (latest <= REPLICA_VERSION) return latest;
  throw new ReplicaError('replica_newer', 'the replica is of a newer usage-ledger', {
    hint: 'install that version here as well',
  });
}
