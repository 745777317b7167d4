import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import type { PublishConfig } from '../config/types.ts';
import { nextTurn, systemClock } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { AppError } from '../core/errors.ts';
import { canExplainRefusal, explainRefusal, type PostgresAccess, PublishError, toPublishRefusal } from './refusals.ts';
import { type CopiedTable, columnList, valueExpressions } from './tables.ts';

export type PublishTarget = Pick<PublishConfig, 'url' | 'schema' | 'tls' | 'ca'>;

const CONNECT_TIMEOUT_MS = 10_000;
/** Time limit of a statement. The server cancels a statement that takes longer. */
const STATEMENT_TIMEOUT_MS = 10 * 60_000;
/**
 * Time without data after which the connection is closed: a frozen server does not enforce the time limit of a
 * statement. Conversely, the server ends a transaction after this time without a statement, because this process may be
 * frozen.
 */
const MAX_SILENCE_MS = STATEMENT_TIMEOUT_MS + 60_000;
const CLOSE_TIMEOUT_MS = 2_000;

const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === pg.types.builtins.INT8 || oid === pg.types.builtins.INT4) return (text: string) => BigInt(text);
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

/**
 * Runs `work` in one transaction on a connection of its own, in the schema of the copy. If the connection ends before
 * the commit, nothing changes. All settings end with the transaction, because a pooler may give the connection to other
 * clients. Throws PublishError, which never contains the password.
 */
export async function inPostgresTransaction<T>(
  { url, schema, tls, ca }: PublishTarget,
  work: (client: pg.Client) => Promise<T>,
  signal?: AbortSignal,
  silenceMs = MAX_SILENCE_MS,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'usage-ledger',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types,
    ssl: tls === 'off' ? false : { rejectUnauthorized: tls === 'verify', ca },
  });
  const closeConnection = (reason: string): void =>
    void client.connection.stream.destroy(new Error(`terminated: ${reason}`));
  const stop = (): void => closeConnection('stopped');
  let cancelSilenceTimer = (): void => undefined;
  // The pending statement reports a broken connection. This event reports it, too, and would end the process if nothing
  // listened to it.
  client.on('error', () => undefined);
  signal?.addEventListener('abort', stop);
  try {
    signal?.throwIfAborted();
    await client.connect();
    const resetSilenceTimer = (): void => {
      cancelSilenceTimer();
      cancelSilenceTimer = systemClock.after(silenceMs, () =>
        closeConnection(`no data within ${Math.round(silenceMs / 1000)} s`),
      );
    };
    client.connection.stream.on('data', resetSilenceTimer).on('drain', resetSilenceTimer);
    resetSilenceTimer();
    await client.query(`BEGIN; SET LOCAL search_path TO ${pg.escapeIdentifier(schema)};
      SET LOCAL statement_timeout TO ${STATEMENT_TIMEOUT_MS};
      SET LOCAL idle_in_transaction_session_timeout TO ${silenceMs}`);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    throw (await explainError(client, error, schema)) ?? toPublishError(error, accessOf(client, schema));
  } finally {
    cancelSilenceTimer();
    signal?.removeEventListener('abort', stop);
    if (
      !(await settlesWithin(
        client.end().catch(() => undefined),
        CLOSE_TIMEOUT_MS,
        systemClock,
      ))
    )
      closeConnection('close timed out');
  }
}

/**
 * Error codes of temporary failures, after which a retry can succeed: SQLSTATE classes (connection, conflicts,
 * resources, shutdown, system) and Node's socket errors.
 */
const TEMPORARY_CODES = /^(08|40|53|57|58|E(?!RR_)[A-Z_]+$)/;

function sqlStateOf(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? '') : '';
}

function accessOf({ user, database }: pg.Client, schema: string): PostgresAccess {
  return { role: user ?? 'postgres', database: database ?? user ?? 'postgres', schema };
}

/** Queries the server for the exact cause of a refusal. Null if the cause is unknown or the query fails. */
async function explainError(client: pg.Client, error: unknown, schema: string): Promise<PublishError | null> {
  const sqlState = sqlStateOf(error);
  if (!canExplainRefusal(sqlState)) return null;
  try {
    await client.query('ROLLBACK');
    return await explainRefusal(client, sqlState, schema);
  } catch {
    // The caller then reports the refusal, which matters more than this error.
    return null;
  }
}

function toPublishError(error: unknown, access: PostgresAccess): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const refusal = toPublishRefusal(sqlStateOf(error), access, error);
  if (refusal !== null) return refusal;
  const code = 'code' in error ? String(error.code) : '';
  // A server restarts after a panic, so a retry may succeed.
  const isPanic = 'severity' in error && error.severity === 'PANIC';
  const isConnectionError =
    code === '' && /connection|timeout|terminated/i.test(error.message) && !/SSL/.test(error.message);
  if (TEMPORARY_CODES.test(code) || isPanic || isConnectionError) {
    return new PublishError('publish_unreachable', `Postgres is not available: ${error.message}`, {
      hint: 'check publish.url, and that Postgres is running, accepts connections from this machine and has free disk space; pending changes are published later automatically',
      retryable: true,
      cause: error,
    });
  }
  return new PublishError(
    'publish_failed',
    `Postgres refused the request: ${error.message}${code === '' ? '' : ` (${code})`}`,
    {
      hint: 'check the user and its permissions (publish.url), the certificate (publish.tls, publish.ca_file) and the log of Postgres; to compare the copy with the ledger, run `usage-ledger publish --check`',
      cause: error,
    },
  );
}

/** Number of characters that are read and sent at a time. Reading them takes some milliseconds. */
const CHUNK_CHARACTERS = 64 * 1024;
/**
 * A marker that `copyLines` does not send: it lets the event loop run instead. A query that finds few rows yields it,
 * because `copyLines` otherwise pauses only after each full chunk.
 */
export const YIELD_LINE = '';
/** The sign that escapes U+0000, which Postgres cannot store: U+0000 becomes `␀0`, and the sign itself is doubled. */
const NUL_SIGN = '␀';

/** Replaces U+0000 in a text, which Postgres cannot store, by an escape. */
export function escapeNul(text: string): string {
  if (!text.includes('\0') && !text.includes(NUL_SIGN)) return text;
  return text.replaceAll(NUL_SIGN, NUL_SIGN + NUL_SIGN).replaceAll('\0', `${NUL_SIGN}0`);
}

/** Returns the SELECT clause of an SQLite query that formats rows as lines in the text format of Postgres' COPY. */
export function selectLines(table: CopiedTable, ledgerKey: number): string {
  const escaped = (value: string): string =>
    `replace(replace(replace(replace(${value}, '\\', '\\\\'), char(9), '\\t'), char(10), '\\n'), char(13), '\\r')`;
  return `SELECT ${[ledgerKey, ...valueExpressions(table, ledgerKey, escaped)].join(' || char(9) || ')}`;
}

/** Writes lines in COPY's text format to a table in Postgres. Returns the number of rows. */
export async function copyLines(client: pg.Client, table: CopiedTable, lines: Iterable<string>): Promise<number> {
  let rows = 0;
  const chunks = (async function* () {
    let chunk = '';
    for (const line of lines) {
      if (line !== YIELD_LINE) {
        chunk += `${line}\n`;
        rows += 1;
      }
      if (chunk.length >= CHUNK_CHARACTERS) {
        yield escapeNul(chunk);
        chunk = '';
      } else if (line !== YIELD_LINE) continue;
      await nextTurn();
    }
    if (chunk !== '') yield escapeNul(chunk);
  })();
  // Most tables have no new rows. For such a table, no request is sent to Postgres.
  const first = await chunks.next();
  if (first.done === true) return 0;
  const allChunks = async function* (): AsyncGenerator<string, void> {
    yield first.value;
    yield* chunks;
  };
  try {
    await pipeline(allChunks, client.query(from(`COPY ${table.name} (${columnList(table)}) FROM STDIN`)));
  } finally {
    // An open iterator would block the connection to the ledger.
    await chunks.return();
  }
  return rows;
}
