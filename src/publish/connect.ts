import type { Duplex } from 'node:stream';
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

/** How the server is reached and waited for, where that is not as usual. */
export interface ReplicaWay {
  clock?: Clock;
  /** Whoever says nothing for so long is given up: the server by us, and we by the server within a transaction. */
  silenceMs?: number;
  /** Makes what carries a connection's bytes; a socket when absent. */
  stream?: () => Duplex;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** A statement that takes longer is ended by the server. */
const STATEMENT_TIMEOUT_MS = 10 * 60_000;
/**
 * A server that is frozen ends nothing, and its connections stand: it is given up after this. So is a publisher that is frozen
 * within a transaction: others of its ledger wait for what it has locked.
 */
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

/** What a transaction is begun with: a snapshot is read only, and `undone` leaves nothing of what it has done. */
export interface TransactionKind {
  snapshot?: boolean;
  undone?: boolean;
}

/**
 * One connection to the replica, in its schema. A pooler may give each transaction to another connection of the server, so
 * nothing is set for longer than one.
 */
export interface ReplicaClient {
  readonly pg: pg.Client;
  /** Why the connection has ended by itself; null while it stands. */
  readonly lost: Error | null;
  /** One statement, in a transaction of its own unless one is under way. */
  query<Row = Record<string, unknown>>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Does the work in one transaction, which is undone when it throws. */
  transaction<T>(work: () => Promise<T>, kind?: TransactionKind): Promise<T>;
  /** What is waited for of the server; when it says nothing for too long, the connection is cut, and the work fails. */
  unlessSilent<T>(work: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Connects. Throws ReplicaError, which never holds the password. */
export async function connectReplica(
  replica: ReplicaSettings,
  { silenceMs = SILENCE_MS, clock = systemClock, stream }: ReplicaWay = {},
): Promise<ReplicaClient> {
  const { url, schema, tls, ca } = replica;
  const client = new pg.Client({
    connectionString: url,
    application_name: 'usage-ledger',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types,
    ...(stream === undefined ? {} : { stream }),
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
  const ask = async <Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> => {
    try {
      return (await unlessSilent(client.query(sql, [...values]))).rows as Row[];
    } catch (error) {
      throw replicaErrorOf(error);
    }
  };
  const settings = [
    `SET LOCAL search_path TO ${pg.escapeIdentifier(schema)}`,
    `SET LOCAL statement_timeout TO ${STATEMENT_TIMEOUT_MS}`,
    `SET LOCAL idle_in_transaction_session_timeout TO ${silenceMs}`,
  ].join('; ');
  let underWay = false;
  const transaction = async <T>(work: () => Promise<T>, kind: TransactionKind = {}): Promise<T> => {
    await ask(`BEGIN${kind.snapshot === true ? ' ISOLATION LEVEL REPEATABLE READ READ ONLY' : ''}; ${settings}`);
    underWay = true;
    let isDone = false;
    try {
      const result = await work();
      isDone = kind.undone !== true;
      if (isDone) await ask('COMMIT');
      return result;
    } finally {
      underWay = false;
      if (!isDone) await ask('ROLLBACK').catch(() => undefined);
    }
  };
  const query = <Row>(sql: string, values?: readonly unknown[]): Promise<Row[]> =>
    underWay ? ask<Row>(sql, values) : transaction(() => ask<Row>(sql, values));
  const giveUp = clock.after(CONNECT_TIMEOUT_MS, () => cut(new Error('timeout expired')));
  try {
    await client.connect();
  } catch (error) {
    void client.end().catch(() => undefined);
    throw replicaErrorOf(error);
  } finally {
    giveUp();
  }
  return {
    pg: client,
    get lost() {
      return lost;
    },
    ...{ query, transaction, unlessSilent, close },
  };
}
