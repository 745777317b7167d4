import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { packageFile } from '../core/process/package-file.ts';
import { columnsOf } from '../ledger/store/file/schema-objects.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { viewColumnKind } from '../reports/queries/finance-view.ts';
import { inPostgresTransaction, type PublishTarget } from './in-postgres.ts';
import { PublishError } from './refusals.ts';
import { COPIED_TABLES, createTableSql } from './tables.ts';

const NOW_IN_SQLITE = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
const NOW_IN_POSTGRES = `(SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

/**
 * Runs `work` in one transaction of Postgres, in the schema of the copy. Creates the schema if it is missing. Throws
 * PublishError, with code `publish_other_version` if another version of the program created the schema.
 */
export async function inCopySchema<T>(
  target: PublishTarget,
  connection: LedgerDb,
  work: (client: pg.Client) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const extraSql = readFileSync(packageFile('drizzle', 'postgres.sql'), 'utf8');
  const statements = [...COPIED_TABLES.map(createTableSql), extraSql, ...createViewStatements(connection)];
  const version = createHash('sha256').update(statements.join(';')).digest('hex');
  const createSchema = async (client: pg.Client): Promise<void> => {
    // Only one publisher creates the schema at a time. The others see it in their next transaction.
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`usage-ledger ${target.schema}`]);
    if (await isCreated(client, target.schema, version)) return;
    // CREATE SCHEMA IF NOT EXISTS would require a permission that a role with an existing schema need not have.
    const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [target.schema]);
    if (rowCount === 0) await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(target.schema)}`);
    for (const sql of statements) await client.query(sql);
    await client.query('INSERT INTO publish_version VALUES ($1)', [version]);
  };
  const attempt = async (client: pg.Client): Promise<{ result: T } | null> =>
    (await isCreated(client, target.schema, version)) ? { result: await work(client) } : null;
  let outcome = await inPostgresTransaction(target, attempt, signal);
  while (outcome === null) {
    await inPostgresTransaction(target, createSchema, signal);
    outcome = await inPostgresTransaction(target, attempt, signal);
  }
  return outcome.result;
}

async function isCreated(client: pg.Client, schema: string, version: string): Promise<boolean> {
  const { rows: states } = await client.query<{ used: boolean; known: boolean }>(
    "SELECT to_regclass('ledgers') IS NOT NULL AS used, to_regclass('publish_version') IS NOT NULL AS known",
  );
  if (states[0]?.used !== true) return false;
  const found = states[0].known ? await client.query<{ version: string }>('SELECT version FROM publish_version') : null;
  if (found?.rows[0]?.version === version) return true;
  throw new PublishError(
    'publish_other_version',
    `the schema ${JSON.stringify(schema)} was created by another version of usage-ledger`,
    {
      hint: 'drop the schema in Postgres, or set another one in publish.schema: the next publication of each ledger fills it',
    },
  );
}

/** Views of budgets and billing systems. Their tables are never copied to Postgres, because they are local settings. */
const LOCAL_VIEWS: readonly string[] = ['finance_budgets', 'finance_outlet_events'];

/**
 * Returns the statements that create the views of `drizzle/views.sql` in Postgres. There a view contains the rows of
 * all ledgers, and its first column is `ledger_id`.
 */
export function createViewStatements(connection: LedgerDb): string[] {
  const text = readFileSync(packageFile('drizzle', 'views.sql'), 'utf8');
  const found = [...text.matchAll(/^CREATE VIEW (\w+) AS\n([\s\S]*?);$/gm)];
  const views = found.filter(([, name = '']) => !LOCAL_VIEWS.includes(name));
  return views.map(([, name = '', body = '']) => {
    const columns = columnsOf(connection, name).map(
      (column) => `${castColumn(column)} AS ${pg.escapeIdentifier(column)}`,
    );
    return `CREATE OR REPLACE VIEW ${name} AS SELECT l.ledger_id, ${columns.join(', ')}
      FROM (${toPostgresBody(body)}) v JOIN ledgers l ON l.ledger_key = v.ledger_key`;
  });
}

/**
 * Converts the SELECT of a view to Postgres' SQL and adds the ledger's key as first column to every list of columns.
 * Integers become `numeric`, which cannot overflow.
 */
function toPostgresBody(body: string): string {
  return body
    .replaceAll(NOW_IN_SQLITE, NOW_IN_POSTGRES)
    .replaceAll('AS INTEGER)', 'AS numeric)')
    .replaceAll(/json_extract\((\w+\.\w+), '\$\.(\w+)'\)/g, "($1::jsonb ->> '$2')")
    .replaceAll(/^( *(?:SELECT|GROUP BY) )(\w+\.)?(?=\w+,)/gm, '$1$2ledger_key, $2');
}

function castColumn(column: string): string {
  const value = `v.${pg.escapeIdentifier(column)}`;
  // Postgres' jsonb cannot contain U+0000, so U+0000 is replaced by the escape that `escapeNul` uses.
  if (['labels', 'overridden', 'figures', 'amounts'].includes(column)) {
    return `regexp_replace(${value}, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1␀0', 'g')::jsonb`;
  }
  const kind = viewColumnKind(column);
  if (kind === 'flag') return `(${value} <> 0)`;
  if (kind === 'amount' || kind === 'price' || column === 'projection') return `${value}::numeric`;
  if (kind === 'credits' || kind === 'count') return `${value}::bigint`;
  if (kind !== 'date') return value;
  // A service may use the year 0 in a period, but Postgres has no year 0: the value becomes NULL.
  return `CASE WHEN ${value} >= '0001' THEN ${value}::timestamptz END`;
}
