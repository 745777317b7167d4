import pg from 'pg';
import { AppError } from '../core/errors.ts';
import { COPIED_TABLES } from './tables.ts';

export class PublishError extends AppError {}

/** The role of a connection to Postgres, and the database and schema that it uses. */
export interface PostgresAccess {
  role: string;
  database: string;
  schema: string;
}

interface PostgresRefusal {
  /** The code of the `PublishError` that reports the refusal. */
  own: 'publish_unreachable' | 'publish_denied' | 'publish_read_only';
  /** Describes the refused action, in words that follow `Postgres refused `. */
  refused: (access: PostgresAccess) => string;
  remedy: (access: PostgresAccess) => string;
  retryable: boolean;
}

const quoteName = pg.escapeIdentifier;
const inSettings = (): string => 'correct user and password in publish.url, then run `usage-ledger reload`';

/**
 * Refusals and their remedies by SQLSTATE (appendix A of the Postgres documentation). `findMissingRights` names missing
 * permissions more exactly.
 */
const REFUSALS_BY_SQLSTATE: Readonly<Record<string, PostgresRefusal>> = {
  '28P01': {
    own: 'publish_denied',
    refused: ({ role }) => `the password of role ${role}`,
    remedy: inSettings,
    retryable: false,
  },
  '28000': {
    own: 'publish_denied',
    refused: ({ role }) => `the login of role ${role}`,
    remedy: ({ role, database }) =>
      `allow ${role} to log in to ${database} from this machine (pg_hba.conf; ALTER ROLE ${quoteName(role)} LOGIN)`,
    retryable: false,
  },
  '3D000': {
    own: 'publish_denied',
    refused: ({ database }) => `database ${database}: it does not exist`,
    remedy: ({ database }) => `run CREATE DATABASE ${quoteName(database)}, or correct publish.url`,
    retryable: false,
  },
  '3F000': {
    own: 'publish_denied',
    refused: ({ role, schema }) => `schema ${schema} to role ${role}`,
    remedy: ({ role, schema }) => `run GRANT USAGE, CREATE ON SCHEMA ${quoteName(schema)} TO ${quoteName(role)}`,
    retryable: false,
  },
  '42501': {
    own: 'publish_denied',
    refused: ({ role, schema }) => `a statement in schema ${schema} to role ${role}`,
    remedy: ({ role, schema }) => `make ${role} the owner of schema ${schema} and of everything in it`,
    retryable: false,
  },
  '25006': {
    own: 'publish_read_only',
    refused: () => 'to write in a read-only transaction',
    remedy: () => 'point publish.url at a server and a role that may write',
    retryable: true,
  },
  '53300': {
    own: 'publish_unreachable',
    refused: ({ role }) => `another connection of role ${role}: no slot is free`,
    remedy: ({ role }) =>
      `end idle connections, raise max_connections or ALTER ROLE ${quoteName(role)} CONNECTION LIMIT, or put PgBouncer before the server`,
    retryable: true,
  },
  '53100': {
    own: 'publish_unreachable',
    refused: () => "to write: the server's disk is full",
    remedy: () => 'make room on the disk of Postgres',
    retryable: true,
  },
  '53200': {
    own: 'publish_unreachable',
    refused: () => 'a statement: the server is out of memory',
    remedy: () => 'give Postgres more memory, or lower work_mem and max_connections',
    retryable: true,
  },
  '57P03': {
    own: 'publish_unreachable',
    refused: () => 'connections: the server is starting or stopping',
    remedy: () => 'wait, or look at the log of Postgres',
    retryable: true,
  },
};

/** Returns the error for a refusal with this SQLSTATE; null if `REFUSALS_BY_SQLSTATE` does not contain the SQLSTATE. */
export function toPublishRefusal(sqlState: string, access: PostgresAccess, cause?: unknown): PublishError | null {
  const refusal = REFUSALS_BY_SQLSTATE[sqlState];
  if (refusal === undefined) return null;
  const { own, refused, remedy, retryable } = refusal;
  return refusedError(own, `${refused(access)} (${sqlState})`, { hint: remedy(access), retryable, cause });
}

function refusedError(
  own: PostgresRefusal['own'],
  refused: string,
  options: { hint: string; retryable: boolean; cause?: unknown },
): PublishError {
  return new PublishError(own, `Postgres refused ${refused}`, options);
}

/** Reports whether another query can find the exact cause of a refusal with this SQLSTATE. */
export function canExplainRefusal(sqlState: string): boolean {
  return ['42501', '3F000', '25006'].includes(sqlState);
}

/** Queries Postgres for the exact cause of a refusal, after a rollback. Null if the cause cannot be determined. */
export async function explainRefusal(
  client: pg.Client,
  sqlState: string,
  schema: string,
): Promise<PublishError | null> {
  if (sqlState === '25006') return explainReadOnly(client);
  return findMissingRights(client, schema, sqlState);
}

/** Throws a PublishError that names the permissions that the role lacks; does nothing if it has all of them. */
export async function requirePermissions(client: pg.Client, schema: string): Promise<void> {
  const missing = await findMissingRights(client, schema, '42501');
  if (missing !== null) throw missing;
}

interface SchemaRights {
  role: string;
  database: string;
  exists: boolean;
  may_make: boolean;
  may_use: boolean | null;
  may_add: boolean | null;
}

interface TableRights {
  name: string;
  SELECT: boolean;
  INSERT: boolean;
  UPDATE: boolean;
  DELETE: boolean;
}

const TABLES = [...COPIED_TABLES.map(({ name }) => name), 'ledgers', 'publish_version'];
/** If a permission is missing on this many tables or more, the remedy grants it on all tables of the schema. */
const MANY_TABLES = 4;

async function findMissingRights(client: pg.Client, schema: string, sqlState: string): Promise<PublishError | null> {
  const { rows } = await client.query<SchemaRights>(
    `SELECT current_user AS role, current_database() AS database, n.oid IS NOT NULL AS exists,
       has_database_privilege(current_database(), 'CREATE') AS may_make,
       has_schema_privilege(n.oid, 'USAGE') AS may_use, has_schema_privilege(n.oid, 'CREATE') AS may_add
     FROM (SELECT $1::text AS name) s LEFT JOIN pg_namespace n ON n.nspname = s.name`,
    [schema],
  );
  const [found] = rows;
  if (found === undefined) return null;
  const { role, database } = found;
  const denied = (action: string, remedy: string): PublishError =>
    refusedError('publish_denied', `${action} to role ${role}: permission denied (${sqlState})`, {
      hint: `run ${remedy}`,
      retryable: false,
    });
  if (!found.exists) {
    const remedy = `CREATE SCHEMA ${quoteName(schema)} AUTHORIZATION ${quoteName(role)}`;
    return found.may_make ? null : denied(`CREATE on database ${database}`, remedy);
  }
  const tables = await client.query<TableRights>(
    `SELECT c.relname AS name, has_table_privilege(c.oid, 'SELECT') AS "SELECT",
       has_table_privilege(c.oid, 'INSERT') AS "INSERT", has_table_privilege(c.oid, 'UPDATE') AS "UPDATE",
       has_table_privilege(c.oid, 'DELETE') AS "DELETE"
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND c.relname = ANY ($2)`,
    [schema, TABLES],
  );
  const onSchema = [
    ...(found.may_use === true ? [] : ['USAGE']),
    // The role needs CREATE only if the tables do not exist yet.
    ...(found.may_add === true || tables.rows.length > 0 ? [] : ['CREATE']),
  ];
  if (onSchema.length > 0) {
    const rights = onSchema.join(', ');
    return denied(
      `${rights} on schema ${schema}`,
      `GRANT ${rights} ON SCHEMA ${quoteName(schema)} TO ${quoteName(role)}`,
    );
  }
  return missingOnTables(tables.rows, { role, database, schema }, denied);
}

function missingOnTables(
  tables: readonly TableRights[],
  { role, schema }: PostgresAccess,
  denied: (action: string, remedy: string) => PublishError,
): PublishError | null {
  const tablesWithout = (right: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE', needed: (name: string) => boolean) => {
    const names = tables.filter((table) => needed(table.name) && !table[right]).map(({ name }) => name);
    return { right, names: names.sort() };
  };
  const missing = [
    tablesWithout('SELECT', () => true),
    tablesWithout('INSERT', (name) => name !== 'publish_version'),
    // `ledgers` contains the position of each ledger. It is the only table in which rows are updated.
    tablesWithout('UPDATE', (name) => name === 'ledgers'),
    tablesWithout('DELETE', (name) => name !== 'ledgers' && name !== 'publish_version'),
  ].filter(({ names }) => names.length > 0);
  if (missing.length === 0) return null;
  const onAll = missing.some(({ names }) => names.length >= MANY_TABLES);
  const rights = missing.map(({ right }) => right).join(', ');
  const names = [...new Set(missing.flatMap((one) => one.names))];
  const where = onAll ? `${names.length} tables of schema ${schema}` : `${schema}.${names.join(`, ${schema}.`)}`;
  const granted = onAll
    ? `ALL TABLES IN SCHEMA ${quoteName(schema)}`
    : names.map((name) => `${quoteName(schema)}.${quoteName(name)}`).join(', ');
  return denied(`${rights} on ${where}`, `GRANT ${rights} ON ${granted} TO ${quoteName(role)}`);
}

interface ReadOnlyFacts {
  role: string;
  database: string;
  is_standby: boolean;
  source: string;
}

async function explainReadOnly(client: pg.Client): Promise<PublishError | null> {
  const { rows } = await client.query<ReadOnlyFacts>(
    `SELECT current_user AS role, current_database() AS database, pg_is_in_recovery() AS is_standby, source
     FROM pg_settings WHERE name = 'default_transaction_read_only'`,
  );
  const [found] = rows;
  if (found === undefined) return null;
  const { role, database, is_standby: isStandby, source } = found;
  const readOnly = (reason: string, hint: string): PublishError =>
    refusedError('publish_read_only', `to write in a read-only transaction: ${reason} (25006)`, {
      hint,
      retryable: true,
    });
  if (isStandby) return readOnly('the server is a standby', 'point publish.url at the primary');
  const reset = 'RESET default_transaction_read_only';
  const remedies: Readonly<Record<string, string>> = {
    user: `run ALTER ROLE ${quoteName(role)} ${reset}`,
    database: `run ALTER DATABASE ${quoteName(database)} ${reset}`,
    'database user': `run ALTER ROLE ${quoteName(role)} IN DATABASE ${quoteName(database)} ${reset}`,
    client: 'remove default_transaction_read_only from publish.url or PGOPTIONS',
  };
  const remedy = remedies[source] ?? 'set default_transaction_read_only to off in postgresql.conf and reload Postgres';
  return readOnly(`default_transaction_read_only is on for role ${role}`, remedy);
}
