import pg from 'pg';
import { type Clock, systemClock } from '../core/clock.ts';
import { replicaErrorOf } from './replica-error.ts';

/** Where the replica lies and how it is reached. */
export interface ReplicaSettings {
  /** `postgres://user:password@host:port/database`; a secret. */
  url: string;
  schema: string;
  /** `off`: this machine only. `require`: encrypted, whoever answers. */
  tls: 'verify' | 'require' | 'off';
  /** Certificates (PEM) of the authorities that the server is trusted by, instead of the public ones. */
  ca?: string;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** A statement that takes longer is ended by the server. */
const STATEMENT_TIMEOUT_MS = 10 * 60_000;
/** A server that is frozen ends nothing, and its connections stand: it is given up after this. */
const SILENCE_MS = STATEMENT_TIMEOUT_MS + 60_000;
/** One that says nothing at the end of a connection is not waited for. */
const FAREWELL_MS = 2_000;
const KEEP_ALIVE_MS = 10_000;

/** Integers are bigints, exact. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === pg.types.builtins.INT8 || oid === pg.types.builtins.INT4) return (text: string) => BigInt(text);
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

/** One connection to the replica, in its schema. */
export interface ReplicaClient {
  readonly pg: pg.Client;
  /** Why the connection has ended by itself; null while it stands. */
  readonly lost: Error | null;
  query<Row = Record<string, unknown>>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** What is waited for of the server; when it says nothing for too long, the connection is cut, and the work fails. */
  unlessSilent<T>(work: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Connects. Throws ReplicaError, which never holds the password. */
export async function connectReplica(
  settings: ReplicaSettings,
  { silenceMs = SILENCE_MS, clock = systemClock }: { silenceMs?: number; clock?: Clock } = {},
): Promise<ReplicaClient> {
  const { url, schema, tls, ca } = settings;
  const client = new pg.Client({
    connectionString: url,
    application_name: 'usage-ledger',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types,
    ssl: tls === 'off' ? false : { rejectUnauthorized: tls === 'verify', ...(ca === undefined ? {} : { ca }) },
  });
  let lost: Error | null = null;
  // Without a listener a connection that breaks while it is idle would end the process.
  client.on('error', (error) => {
    lost ??= error;
  });
  const cut = (reason?: Error): void => void client.connection.stream.destroy(reason);
  const unlessSilent = async <T>(work: Promise<T>): Promise<T> => {
    const seconds = Math.round(silenceMs / 1000);
    const cancel = clock.after(silenceMs, () => cut(new Error(`terminated: no answer within ${seconds} s`)));
    try {
      return await work;
    } finally {
      cancel();
    }
  };
  const close = async (): Promise<void> => {
    const cancel = clock.after(FAREWELL_MS, cut);
    await client.end().catch(() => undefined);
    cancel();
  };
  const query = async <Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> => {
    try {
      return (await unlessSilent(client.query(sql, [...values]))).rows as Row[];
    } catch (error) {
      throw replicaErrorOf(error);
    }
  };
  try {
    await client.connect();
  } catch (error) {
    void client.end().catch(() => undefined);
    throw replicaErrorOf(error);
  }
  try {
    await query(`SET search_path TO ${pg.escapeIdentifier(schema)}`);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    pg: client,
    get lost() {
      return lost;
    },
    ...{ query, unlessSilent, close },
  };
}
