import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { packageFile } from '../core/process/package-file.ts';
import { columnsOf } from '../ledger/store/file/schema-objects.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { viewColumnKind } from '../reports/queries/finance-view.ts';
import { inPostgres, type PublishTarget } from './in-postgres.ts';
import { PublishError } from './refusals.ts';
import { COPIED_TABLES, createTable } from './tables.ts';

const NOW_IN_SQLITE = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
const NOW = `(SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

/** Does the work in one transaction of Postgres, in a schema of this version, which is made unless it is there. */
export async function inCopy<T>(
  target: PublishTarget,
  connection: LedgerDb,
  work: (client: pg.Client) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const own = readFileSync(packageFile('drizzle', 'postgres.sql'), 'utf8');
  const statements = [...COPIED_TABLES.map(createTable), own, ...viewsOf(connection)];
  const version = createHash('sha256').update(statements.join(';')).digest('hex');
  const make = async (client: pg.Client): Promise<void> => {
    // One publisher at a time; what the others have made is seen from the next transaction on.
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`usage-ledger ${target.schema}`]);
    if (await isMade(client, target.schema, version)) return;
    // Where the schema is there, the right to make one is not needed.
    const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [target.schema]);
    if (rowCount === 0) await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(target.schema)}`);
    for (const sql of statements) await client.query(sql);
    await client.query('INSERT INTO publish_version VALUES ($1)', [version]);
  };
  const attempt = async (client: pg.Client): Promise<{ result: T } | null> =>
    (await isMade(client, target.schema, version)) ? { result: await work(client) } : null;
  let done = await inPostgres(target, attempt, signal);
  while (done === null) {
    await inPostgres(target, make, signal);
    done = await inPostgres(target, attempt, signal);
  }
  return done.result;
}

async function isMade(client: pg.Client, schema: string, version: string): Promise<boolean> {
  const { rows: states } = await client.query<{ used: boolean; known: boolean }>(
    "SELECT to_regclass('ledgers') IS NOT NULL AS used, to_regclass('publish_version') IS NOT NULL AS known",
  );
  if (states[0]?.used !== true) return false;
  const found = states[0].known ? await client.query<{ version: string }>('SELECT version FROM publish_version') : null;
  if (found?.rows[0]?.version === version) return true;
  throw new PublishError(
    'publish_other_version',
    `the schema ${JSON.stringify(schema)} was made by another version of usage-ledger`,
    { hint: 'drop it in Postgres, or name another one in publish.schema: the next publish of each ledger fills it' },
  );
}

/** About this machine's billing systems and settings: their tables are not copied. */
const OWN_VIEWS: readonly string[] = ['finance_budgets', 'finance_outlet_events'];

/** The statements that make the views of `drizzle/views.sql` over all ledgers, with `ledger_id` before their columns. */
export function viewsOf(connection: LedgerDb): string[] {
  const text = readFileSync(packageFile('drizzle', 'views.sql'), 'utf8');
  const found = [...text.matchAll(/^CREATE VIEW (\w+) AS\n([\s\S]*?);$/gm)];
  const views = found.filter(([, name = '']) => !OWN_VIEWS.includes(name));
  return views.map(([, name = '', body = '']) => {
    const columns = columnsOf(connection, name).map((column) => `${typed(column)} AS ${pg.escapeIdentifier(column)}`);
    return `CREATE OR REPLACE VIEW ${name} AS SELECT l.ledger_id, ${columns.join(', ')}
      FROM (${overAllLedgers(body)}) v JOIN ledgers l ON l.ledger_key = v.ledger_key`;
  });
}

/** Every list of columns begins with the ledger's key. Whole numbers are as large as they come. */
function overAllLedgers(body: string): string {
  return body
    .replaceAll(NOW_IN_SQLITE, NOW)
    .replaceAll('AS INTEGER)', 'AS numeric)')
    .replaceAll(/json_extract\((\w+\.\w+), '\$\.(\w+)'\)/g, "($1::jsonb ->> '$2')")
    .replaceAll(/^( *(?:SELECT|GROUP BY) )(\w+\.)?(?=\w+,)/gm, '$1$2ledger_key, $2');
}

function typed(column: string): string {
  const value = `v.${pg.escapeIdentifier(column)}`;
  // Postgres has no U+0000.
  if (['labels', 'overridden', 'figures', 'amounts'].includes(column)) {
    return `regexp_replace(${value}, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1␀0', 'g')::jsonb`;
  }
  const kind = viewColumnKind(column);
  if (kind === 'flag') return `(${value} <> 0)`;
  if (kind === 'amount' || kind === 'price' || column === 'projection') return `${value}::numeric`;
  if (kind === 'credits' || kind === 'count') return `${value}::bigint`;
  if (kind !== 'date') return value;
  // Postgres has no year 0; the service names periods as it likes.
  return `CASE WHEN ${value} >= '0001' THEN ${value}::timestamptz END`;
}
