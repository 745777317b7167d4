import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import type { LedgerConnection } from '../../src/ledger/store/file/open.ts';
import {
  connectReplica,
  type ReplicaClient,
  type ReplicaSettings,
  type ReplicaWay,
} from '../../src/publish/connect.ts';
import { replicaRows } from '../../src/publish/receive/replica-rows.ts';
import { migrateReplica, replicaDrift } from '../../src/publish/replica/migrate-replica.ts';
import { mirror } from '../../src/publish/replica/mirrors.ts';
import { copyInto } from '../../src/publish/send/copy-rows.ts';
import { publishLedger } from '../../src/publish/send/publish-ledger.ts';
import { buildRichLedger } from '../ledger/audit/verify/tamper/rich-ledger.ts';
import { postgresEngine } from '../simulation/world/postgres/engine.ts';
import { SCHEMA } from '../simulation/world/postgres/schema.ts';
import { SimulatedPostgres } from '../simulation/world/postgres/server.ts';
import { openLedger, publish as runWith, usageRecord } from '../support/open-ledger.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { rejection } from '../support/rejection.ts';
import { NOON } from '../support/time/test-clock.ts';
import { expectSameTables } from './compare-tables.ts';
import { expectSameViews } from './views/compare-views.ts';

/** A server, as a publisher meets it. */
interface Port {
  settings: ReplicaSettings;
  way: ReplicaWay;
  /** From now on it takes no connections, and has cut those that there are. */
  leave(): Promise<void>;
  end(): Promise<void>;
}

/** What the simulation puts in place of a server must be one in all that a publisher relies on. */
const PORTS: Record<string, () => Promise<Port>> = {
  async 'Postgres itself'() {
    const server: PostgresServer = await startPostgres();
    return { settings: server.settings(SCHEMA), way: {}, leave: () => server.stop(), end: () => server.remove() };
  },
  async 'the Postgres of the simulation'() {
    const clock: Clock = { ...systemClock, after: (_, call) => systemClock.after(0, call) };
    const server = new SimulatedPostgres(await postgresEngine(), clock, new Random(1));
    const client = {
      isAlive: () => true,
      isAwake: () => true,
      deliver: (call: () => void) => call(),
      onQuestion: () => undefined,
    };
    return {
      settings: { url: 'postgres://usage_ledger@127.0.0.1/world', schema: SCHEMA, tls: 'off' },
      way: { stream: () => server.wireFor(client) },
      leave: async () => server.setTrouble({ fault: 'away' }),
      end: async () => undefined,
    };
  },
};

describe.each(Object.keys(PORTS))('%s', (name) => {
  let port: Port;
  beforeAll(async () => {
    port = (await PORTS[name]?.()) as Port;
  });
  afterAll(() => port.end());

  async function connect(): Promise<ReplicaClient> {
    const client = await connectReplica(port.settings, port.way);
    onTestFinished(() => client.close());
    return client;
  }

  /** Connected to a replica in which nothing was published. */
  async function emptyReplica(): Promise<ReplicaClient> {
    const client = await connect();
    await client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
    await migrateReplica(client, SCHEMA);
    return client;
  }

  const send = (connection: LedgerConnection, client: ReplicaClient) =>
    publishLedger({ connection, client, by: 'test', nowMs: NOON });

  test('holds what was published, in tables and views, and sends it back', async () => {
    const client = await emptyReplica();
    const connection = await buildRichLedger();
    const { to } = await send(connection, client);
    expect(await replicaDrift(client)).toEqual([]);
    await expectSameTables(connection, client, name);
    await expectSameViews(connection, client, name);
    expect(await client.query('SELECT position FROM ledgers')).toEqual([{ position: BigInt(to) }]);
    const [{ ledger_key: key } = { ledger_key: 0 }] = await client.query<{ ledger_key: number }>(
      'SELECT ledger_key FROM ledgers',
    );
    let held = 0;
    await client.transaction(async () => {
      for await (const _ of replicaRows(client, mirror('runs'), Number(key))) held += 1;
    });
    expect({ runs: held }).toEqual(connection.prepare('SELECT count(*) AS runs FROM runs').get());
    expect((await send(connection, client)).rows).toBe(0);
  });

  test('takes a transaction back whose statement it has refused, and says why by a code', async () => {
    const client = await emptyReplica();
    const refused = async (work: () => Promise<unknown>) => {
      const error = await rejection(
        client.transaction(async () => {
          await client.query("INSERT INTO checkpoints VALUES (1, 1, 'a note')");
          await work();
        }),
      );
      expect(await client.query('SELECT count(*) AS rows FROM checkpoints')).toEqual([{ rows: 0n }]);
      return { code: (error as { code?: string }).code, sqlState: (error.cause as { code?: string }).code };
    };
    const copied = (lines: string[]) => refused(() => copyInto(client, 'ledger_meta', mirror('ledger_meta'), lines));
    const failed = { code: 'replica_failed' };
    expect(await copied(['1\tname'])).toEqual({ ...failed, sqlState: '22P04' });
    expect(await copied(['1\tname\tvalue', '1\tname\tanother'])).toEqual({ ...failed, sqlState: '23505' });
    const asked = (sql: string, values: unknown[] = []) => refused(() => client.query(sql, values));
    expect(await asked('SELECT 1 FROM nothing_here')).toEqual({ ...failed, sqlState: '42P01' });
    expect(await asked('SELECT $1::bigint', ['x'])).toEqual({ ...failed, sqlState: '22P02' });
    const raised = (code: string) => asked(`DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${code}'; END $$`);
    expect(await raised('53100')).toEqual({ code: 'replica_unreachable', sqlState: '53100' });
    expect(await raised('25006')).toEqual({ code: 'replica_denied', sqlState: '25006' });
    // What is asked for after a refusal is refused as well, up to a savepoint.
    const swallowed = () => client.query('SELECT 1 FROM nothing_here').catch(() => client.query('SELECT 1'));
    expect(await refused(swallowed)).toEqual({ ...failed, sqlState: '25P02' });
  });

  test('goes back to a savepoint, and forgets what is made for one transaction', async () => {
    const client = await emptyReplica();
    await client.transaction(async () => {
      await client.query('CREATE TEMP TABLE mine (LIKE checkpoints INCLUDING INDEXES) ON COMMIT DROP');
      await client.query('SAVEPOINT here');
      await rejection(client.query('INSERT INTO checkpoints VALUES (NULL, 1, $1)', ['']));
      await client.query('ROLLBACK TO SAVEPOINT here');
      await client.query("INSERT INTO pg_temp.mine VALUES (1, 1, 'a note')");
      await client.query('INSERT INTO checkpoints SELECT * FROM pg_temp.mine');
    });
    expect(await client.query("SELECT to_regclass('pg_temp.mine') IS NULL AS gone")).toEqual([{ gone: true }]);
    expect(await client.query('SELECT note FROM checkpoints')).toEqual([{ note: 'a note' }]);
    const undone = client.transaction(() => client.query('DELETE FROM checkpoints RETURNING seq'), { undone: true });
    expect(await undone).toEqual([{ seq: 1n }]);
    expect(await client.query('SELECT count(*) AS rows FROM checkpoints')).toEqual([{ rows: 1n }]);
    const denied = client.transaction(() => client.query('DELETE FROM checkpoints'), { snapshot: true });
    expect(await rejection(denied)).toMatchObject({ code: 'replica_denied' });
  });

  test('lets publishers of one ledger wait for each other, and take up where the other has stopped', async () => {
    await emptyReplica();
    const { connection, path } = openLedger();
    await runWith(connection, [usageRecord('acme', 10)]);
    const clients = await Promise.all([connect(), connect(), connect()]);
    const reports = await Promise.all(clients.map((client) => send(openLedger(path).connection, client)));
    expect(reports.map(({ entries }) => entries).sort()).toEqual([0, 0, 1]);
    for (const client of clients) expect(await migrateReplica(client, SCHEMA)).toEqual([]);
  });

  test('takes back what was not committed when the connection is cut, and keeps what was', async () => {
    const client = await emptyReplica();
    const other = await connect();
    const cut = client.transaction(async () => {
      await client.query("INSERT INTO checkpoints VALUES (1, 1, 'lost')");
      client.pg.connection.stream.destroy();
      await client.query('SELECT 1');
    });
    expect(await rejection(cut)).toMatchObject({ code: 'replica_unreachable', retryable: true });
    expect(client.lost).not.toBeNull();
    expect(await other.query('SELECT note FROM checkpoints')).toEqual([]);
    await other.query("INSERT INTO checkpoints VALUES (1, 1, 'kept')");
    other.pg.connection.stream.destroy();
    expect(await (await connect()).query('SELECT note FROM checkpoints')).toEqual([{ note: 'kept' }]);
  });

  test('that has gone away is unreachable, and what was under way fails', async () => {
    const client = await emptyReplica();
    const unreachable = { code: 'replica_unreachable', retryable: true };
    const broken = client.transaction(async () => {
      await client.query('SELECT 1');
      await port.leave();
      await client.query('SELECT 1');
    });
    expect(await rejection(broken)).toMatchObject(unreachable);
    expect(await rejection(connectReplica(port.settings, port.way))).toMatchObject(unreachable);
  });
});
