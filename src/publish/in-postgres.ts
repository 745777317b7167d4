import pg from 'pg';
import type { PublishConfig } from '../config/types.ts';
import { systemClock } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { publishErrorOf } from './publish-error.ts';

/** Where the copy lies and how it is reached. */
export type PublishTarget = Pick<PublishConfig, 'url' | 'schema' | 'tls' | 'ca'>;

const CONNECT_TIMEOUT_MS = 10_000;
/** A statement that takes longer is ended by the server. */
const STATEMENT_TIMEOUT_MS = 10 * 60_000;
/** A frozen server ends nothing: we give it up. So does a server a publisher that is frozen within its transaction. */
const SILENCE_MS = STATEMENT_TIMEOUT_MS + 60_000;
const FAREWELL_MS = 2_000;

/** Integers are bigints, exact. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === pg.types.builtins.INT8 || oid === pg.types.builtins.INT4) return (text: string) => BigInt(text);
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

/**
 * Does the work in one transaction of a connection of its own, in the schema of the copy. A connection that ends before the
 * commit leaves nothing. A pooler may share connections: nothing is set for longer than the transaction.
 *
 * @throws PublishError, which never holds the password.
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
    throw publishErrorOf(error);
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
