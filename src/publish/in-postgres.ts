import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import type { PublishConfig } from '../config/types.ts';
import { nextTurn, systemClock } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { AppError } from '../core/errors.ts';
import { explainRefusal, isExplainable, type Place, PublishError, refusalOf } from './refusals.ts';
import { type CopiedTable, columnNames, valuesOf } from './tables.ts';

export type PublishTarget = Pick<PublishConfig, 'url' | 'schema' | 'tls' | 'ca'>;

const CONNECT_TIMEOUT_MS = 10_000;
/** A statement that takes longer is ended by the server. */
const STATEMENT_TIMEOUT_MS = 10 * 60_000;
/** A frozen server ends nothing: we give it up. So does a server a publisher that is frozen within its transaction. */
const SILENCE_MS = STATEMENT_TIMEOUT_MS + 60_000;
const FAREWELL_MS = 2_000;

const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === pg.types.builtins.INT8 || oid === pg.types.builtins.INT4) return (text: string) => BigInt(text);
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

/**
 * Does the work in one transaction of a connection of its own, in the schema of the copy. A connection that ends before
 * the commit leaves nothing. A pooler may share connections: nothing is set for longer than the transaction. Throws
 * PublishError, which never holds the password.
 */
export async function inPostgres<T>(
  { url, schema, tls, ca }: PublishTarget,
  work: (client: pg.Client) => Promise<T>,
  signal?: AbortSignal,
  silenceMs = SILENCE_MS,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'usage-ledger',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types,
    ssl: tls === 'off' ? false : { rejectUnauthorized: tls === 'verify', ca },
  });
  const cut = (why: string): void => void client.connection.stream.destroy(new Error(`terminated: ${why}`));
  const stop = (): void => cut('stopped');
  let endSilence = (): void => undefined;
  // What breaks the connection fails the statement under way as well; without a listener it would end the process.
  client.on('error', () => undefined);
  signal?.addEventListener('abort', stop);
  try {
    signal?.throwIfAborted();
    await client.connect();
    const listen = (): void => {
      endSilence();
      endSilence = systemClock.after(silenceMs, () => cut(`no answer within ${Math.round(silenceMs / 1000)} s`));
    };
    client.connection.stream.on('data', listen).on('drain', listen);
    listen();
    await client.query(`BEGIN; SET LOCAL search_path TO ${pg.escapeIdentifier(schema)};
      SET LOCAL statement_timeout TO ${STATEMENT_TIMEOUT_MS};
      SET LOCAL idle_in_transaction_session_timeout TO ${silenceMs}`);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    throw (await explained(client, error, schema)) ?? publishErrorOf(error, placeOf(client, schema));
  } finally {
    endSilence();
    signal?.removeEventListener('abort', stop);
    if (
      !(await settlesWithin(
        client.end().catch(() => undefined),
        FAREWELL_MS,
        systemClock,
      ))
    )
      cut('no farewell');
  }
}

/** Another attempt may find these gone. Of SQLSTATE: connection, conflicts, resources, shutdown, system; of Node: sockets. */
const PASSING = /^(08|40|53|57|58|E(?!RR_)[A-Z_]+$)/;

function sqlStateOf(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? '') : '';
}

function placeOf({ user, database }: pg.Client, schema: string): Place {
  return { role: user ?? 'postgres', database: database ?? user ?? 'postgres', schema };
}

/** Has the server say what exactly is missing; null where it does not say, or another error came. */
async function explained(client: pg.Client, error: unknown, schema: string): Promise<PublishError | null> {
  const sqlState = sqlStateOf(error);
  if (!isExplainable(sqlState)) return null;
  try {
    await client.query('ROLLBACK');
    return await explainRefusal(client, sqlState, schema);
  } catch {
    // The refusal itself is reported, and that matters more.
    return null;
  }
}

function publishErrorOf(error: unknown, place: Place): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const refusal = refusalOf(sqlStateOf(error), place, error);
  if (refusal !== null) return refusal;
  const code = 'code' in error ? String(error.code) : '';
  // A server that ends itself comes back, whatever it says last.
  const panics = 'severity' in error && error.severity === 'PANIC';
  const isWay = code === '' && /connection|timeout|terminated/i.test(error.message) && !/SSL/.test(error.message);
  if (PASSING.test(code) || panics || isWay) {
    return new PublishError('publish_unreachable', `Postgres cannot be used now: ${error.message}`, {
      hint: 'check publish.url, that Postgres runs, takes connections from here and has room on its disk; what is not published yet follows by itself',
      retryable: true,
      cause: error,
    });
  }
  return new PublishError('publish_failed', `Postgres refuses: ${error.message}${code === '' ? '' : ` (${code})`}`, {
    hint: 'check the user and its rights (publish.url), the certificate (publish.tls, publish.ca_file), and the log of Postgres; `usage-ledger publish --check` compares the copy with the ledger',
    cause: error,
  });
}

/** What is read and handed to the socket at a time, in characters: reading it takes some milliseconds. */
const CHUNK_CHARACTERS = 64 * 1024;
/** Has the event loop its turn where rows are looked for and none is found. */
export const PAUSE = '';
/** Stands for U+0000, which no text of Postgres has, as `␀0`; the sign itself, which nobody uses, is doubled. */
const SIGN = '␀';

export function escapeNul(text: string): string {
  if (!text.includes('\0') && !text.includes(SIGN)) return text;
  return text.replaceAll(SIGN, SIGN + SIGN).replaceAll('\0', `${SIGN}0`);
}

/** Rows as lines of COPY's text format. */
export function selectLines(table: CopiedTable, ledgerKey: number): string {
  const escaped = (value: string): string =>
    `replace(replace(replace(replace(${value}, '\\', '\\\\'), char(9), '\\t'), char(10), '\\n'), char(13), '\\r')`;
  return `SELECT ${[ledgerKey, ...valuesOf(table, ledgerKey, escaped)].join(' || char(9) || ')}`;
}

export async function copyLines(client: pg.Client, table: CopiedTable, lines: Iterable<string>): Promise<number> {
  let rows = 0;
  const chunks = (async function* () {
    let chunk = '';
    for (const line of lines) {
      if (line !== PAUSE) {
        chunk += `${line}\n`;
        rows += 1;
      }
      if (chunk.length >= CHUNK_CHARACTERS) {
        yield escapeNul(chunk);
        chunk = '';
      } else if (line !== PAUSE) continue;
      await nextTurn();
    }
    if (chunk !== '') yield escapeNul(chunk);
  })();
  // Most tables have nothing new: they cost no question to the server.
  const first = await chunks.next();
  if (first.done === true) return 0;
  const all = async function* (): AsyncGenerator<string, void> {
    yield first.value;
    yield* chunks;
  };
  try {
    await pipeline(all, client.query(from(`COPY ${table.name} (${columnNames(table)}) FROM STDIN`)));
  } finally {
    // A reading of the ledger that is still open would keep its connection from anything else.
    await chunks.return();
  }
  return rows;
}
