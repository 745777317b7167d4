import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import pg from 'pg';
import type { ReplicaClient } from '../connect.ts';
import { ReplicaError } from '../replica-error.ts';

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../drizzle/postgres', import.meta.url));
const VIEWS_FILE = join(MIGRATIONS_FOLDER, 'views.sql');
const BREAK = '--> statement-breakpoint';
/** Names the lock under which one publisher at a time changes the schema. */
const LOCK = 'usage-ledger replica schema';

/**
 * Brings the replica's schema to that of this version, in one transaction; publishers that do so at once wait for each
 * other. Refuses one of a newer version. Returns how many migrations were applied.
 */
export async function migrateReplica(client: ReplicaClient, schema: string): Promise<number> {
  const migrations = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
  if ((await due(client, schema, migrations)).length === 0) return 0;
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`${LOCK} ${schema}`]);
    // Where the schema is there, the right to make one is not needed.
    const found = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
    if (found.length === 0) await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
    await client.query(
      'CREATE TABLE IF NOT EXISTS schema_migrations (created_at bigint PRIMARY KEY, hash text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())',
    );
    const left = await due(client, schema, migrations);
    for (const { sql, folderMillis, hash } of left) {
      for (const statement of sql) await client.query(statement);
      await client.query('INSERT INTO schema_migrations (created_at, hash) VALUES ($1, $2)', [folderMillis, hash]);
    }
    if (left.length > 0) {
      for (const statement of readFileSync(VIEWS_FILE, 'utf8').split(BREAK)) await client.query(statement);
    }
    await client.query('COMMIT');
    return left.length;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Throws unless the replica has the schema of this version. */
export async function requireCurrentReplica(client: ReplicaClient, schema: string): Promise<void> {
  const migrations = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
  if ((await due(client, schema, migrations)).length === 0) return;
  throw new ReplicaError('replica_outdated', `the schema ${JSON.stringify(schema)} holds no replica of this version`, {
    hint: 'check publish.url and publish.schema; `usage-ledger publish` makes or migrates the replica',
  });
}

async function due(client: ReplicaClient, schema: string, migrations: MigrationMeta[]): Promise<MigrationMeta[]> {
  const [found] = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    `${pg.escapeIdentifier(schema)}.schema_migrations`,
  ]);
  if (found?.there !== true) return migrations;
  const [row] = await client.query<{ latest: bigint | null }>(
    'SELECT max(created_at) AS latest FROM schema_migrations',
  );
  const latest = Number(row?.latest ?? 0n);
  if (latest > Math.max(...migrations.map(({ folderMillis }) => folderMillis))) {
    throw new ReplicaError('replica_newer', `the replica in ${JSON.stringify(schema)} is of a newer usage-ledger`, {
      hint: 'install that version here as well',
    });
  }
  return migrations.filter(({ folderMillis }) => folderMillis > latest);
}
