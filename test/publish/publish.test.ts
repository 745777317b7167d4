import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { addSilence } from '../../src/alerts/book/actions.ts';
import { headOfChain } from '../../src/ledger/journal/runs/digest.ts';
import type { LedgerConnection } from '../../src/ledger/store/file/open.ts';
import { connectReplica, type ReplicaClient } from '../../src/publish/connect.ts';
import { migrateReplica } from '../../src/publish/replica/migrate-replica.ts';
import { type PublishReport, publishLedger } from '../../src/publish/send/publish-ledger.ts';
import { openLedger, publish as runWith, usageRecord } from '../support/open-ledger.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';
import { expectSameTables } from './compare-tables.ts';
import { expectSameViews } from './views/compare-views.ts';

const SCHEMA = 'usage_ledger';
const MANUAL = new URL('../../docs/replica.md', import.meta.url);

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

async function replica(schema = SCHEMA): Promise<ReplicaClient> {
  const client = await server.connect(schema);
  onTestFinished(() => client.close());
  await migrateReplica(client, schema);
  // All tests have a workspace of the same name, which counts in the first ledger only.
  await client.query('DELETE FROM ledgers');
  return client;
}

function send(connection: LedgerConnection, client: ReplicaClient): Promise<PublishReport> {
  return publishLedger({ connection, client, by: 'test', nowMs: NOON });
}

/** The same ledger twice, as a copy of its file is. */
async function twoCopies(): Promise<[LedgerConnection, LedgerConnection]> {
  const original = openLedger();
  await runWith(original.connection, [usageRecord('acme', 10)]);
  original.connection.pragma('wal_checkpoint(TRUNCATE)');
  const path = join(temporaryFolder(), 'copy.db');
  copyFileSync(original.path, path);
  return [original.connection, openLedger(path).connection];
}

test('what has been published is not sent again, and what is new is', async () => {
  const client = await replica();
  const { connection } = openLedger();
  await runWith(connection, [usageRecord('acme', 10), usageRecord('globex', 7)]);
  expect(await send(connection, client)).toMatchObject({ from: 0, to: 1, entries: 2 });
  expect(await send(connection, client)).toMatchObject({ from: 1, to: 1, entries: 0, rows: 0 });
  const { digest } = await runWith(connection, [usageRecord('acme', 12), usageRecord('globex', 7)], {
    nowMs: NOON + 1000,
  });
  expect(await send(connection, client)).toMatchObject({ from: 1, to: 2, entries: 1, headDigest: digest });
  await expectSameTables(connection, client, 'in the end');
});

test('a walk that a published run leaves late is sent, too', async () => {
  const client = await replica();
  const { connection } = openLedger();
  await runWith(connection, [usageRecord('acme', 10)]);
  await send(connection, client);
  connection.exec(`INSERT INTO walks SELECT run_key, walk_number + 1, started_at, finished_at, pages, records, distinct_keys,
    total_records, total_pages, key_set_digest, content_digest, 'unconfirmed', signs FROM walks`);
  expect((await send(connection, client)).rows).toBeGreaterThan(0);
  await expectSameTables(connection, client, 'a late walk');
  expect((await send(connection, client)).rows).toBe(0);
});

test('identifiers keep every byte, also those that Postgres has no text for', async () => {
  const client = await replica();
  const { connection } = openLedger();
  const ids = ['a\0b', 'a␀0b', '␀', '\\N', 'tab\tline\nfeed\rback\\slash', "o'hara", '𝔘nicode'];
  await runWith(
    connection,
    ids.map((id) => usageRecord(id, 2n ** 62n / BigInt(ids.length))),
  );
  await send(connection, client);
  await expectSameTables(connection, client, 'hostile ids');
  const [{ ids: shown } = { ids: [] }] = await client.query<{ ids: string[] }>(
    'SELECT array_agg(tenant_id ORDER BY tenant_id) AS ids FROM finance_tenants WHERE tenant_id LIKE $1',
    ['a␀%'],
  );
  expect(shown).toEqual(['a␀0b', 'a␀␀0b']);
});

test('a second copy of a ledger is refused as soon as the two have parted, with both heads named', async () => {
  const client = await replica();
  const [one, other] = await twoCopies();
  await send(one, client);
  expect((await send(other, client)).rows, 'they are the same so far').toBe(0);
  const ours = await runWith(one, [usageRecord('acme', 11)], { nowMs: NOON + 1000 });
  const theirs = await runWith(other, [usageRecord('acme', 12)], { nowMs: NOON + 1000 });
  await send(one, client);
  const error = await rejection(send(other, client));
  expect(error).toMatchObject({ code: 'replica_refused', retryable: false });
  expect(error.message).toContain(ours.digest);
  expect(error.message).toContain(theirs.digest);
  await expectSameTables(one, client, 'after the refusal');
});

test('a copy that is behind, or has parted beside the chain, is refused as well', async () => {
  const client = await replica();
  const [one, behind] = await twoCopies();
  await runWith(one, [usageRecord('acme', 11)], { nowMs: NOON + 1000 });
  await send(one, client);
  expect(await rejection(send(behind, client))).toMatchObject({ code: 'replica_refused' });

  const [first, second] = await twoCopies();
  const silence = {
    kind: 'silence',
    workspaceId: null,
    rule: '*',
    tenant: '*',
    period: '*',
    upToCredits: null,
  } as const;
  const more = { untilMs: NOON + 1000, by: 'Ada', nowMs: NOON };
  addSilence(first, { ...silence, ...more, reason: 'one' });
  addSilence(second, { ...silence, ...more, reason: 'two' });
  await send(first, client);
  expect(headOfChain(first)).toEqual(headOfChain(second));
  expect((await rejection(send(second, client))).message).toContain('row change');
});

test('publishers that come at once publish each link once', async () => {
  const { connection, path } = openLedger();
  await runWith(connection, [usageRecord('acme', 10)]);
  const clients = await Promise.all([server.connect('at_once'), server.connect('at_once'), server.connect('at_once')]);
  for (const client of clients) onTestFinished(() => client.close());
  const mended = await Promise.all(clients.map((client) => migrateReplica(client, 'at_once')));
  expect(mended).toEqual([[], [], []]);
  const reports = await Promise.all(clients.map((client) => send(openLedger(path).connection, client)));
  expect(reports.map(({ entries }) => entries).sort()).toEqual([0, 0, 1]);
  for (const client of clients) await expectSameTables(connection, client, 'at once');
});

test('many ledgers lie side by side in one schema', async () => {
  const client = await replica();
  const ledgers = [openLedger().connection, openLedger().connection];
  for (const [index, connection] of ledgers.entries()) {
    await runWith(connection, [usageRecord('acme', 10 + index)], { workspaceId: `ws-${index}` });
    await send(connection, client);
  }
  for (const connection of ledgers) expect(await expectSameViews(connection, client, 'one of two')).toBeGreaterThan(3);
});

test('the tables of the replica are those of the ledger, with ledger_key before their columns and in their keys', async () => {
  const client = await replica();
  const { connection } = openLedger();
  const found = await client.query<{ name: string; columns: string[]; key: string[] }>(
    `SELECT c.relname AS name,
       array_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || coalesce(o.collname, '')
         ORDER BY a.attnum) AS columns,
       string_to_array(substring(pg_get_constraintdef(k.oid) FROM '\\((.*)\\)'), ', ') AS key
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
     JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p' LEFT JOIN pg_collation o ON o.oid = a.attcollation
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relname NOT IN ('ledgers', 'checkpoints', 'schema_migrations')
     GROUP BY c.oid, k.oid ORDER BY c.relname`,
  );
  const tables = connection
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_migrations' AND name NOT LIKE 'sqlite_%' ORDER BY 1",
    )
    .pluck()
    .all() as string[];
  const types: Record<string, string> = { integer: 'bigint %', text: 'text % C', blob: 'bytea %' };
  expect(found).toEqual(
    tables.map((name) => {
      const columns = connection.pragma(`table_info(${name})`) as Record<'name' | 'type' | 'notnull' | 'pk', string>[];
      const said = columns.map(({ name: column, type, notnull }) => {
        const rest = (types[type.toLowerCase()] ?? '').replace('%', String(Number(notnull) === 1));
        return `${column} ${rest}${type.toLowerCase() === 'text' ? '' : ' '}`;
      });
      const key = columns.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a.pk) - Number(b.pk));
      return {
        name,
        columns: ['ledger_key integer true ', ...said],
        key: ['ledger_key', ...key.map((column) => column.name)],
      };
    }),
  );
});

test('the views have the columns of SQLite, with ledger_id before them', async () => {
  const client = await replica();
  const { connection } = openLedger();
  for (const view of connection
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'view'")
    .pluck()
    .all() as string[]) {
    const columns = connection.prepare(`SELECT name FROM pragma_table_info('${view}') ORDER BY cid`).pluck().all();
    const there = await client.query<{ column_name: string }>(
      'SELECT column_name FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position',
      [SCHEMA, view],
    );
    expect(
      there.map(({ column_name }) => column_name),
      view,
    ).toEqual(['ledger_id', ...columns]);
  }
});

test('the reader of the manual reads every view and nothing else', async () => {
  const owner = await replica();
  const { connection } = openLedger();
  await runWith(connection, [usageRecord('acme', 10)]);
  await send(connection, owner);
  const [, script = ''] = /```sql\n(CREATE ROLE finance_reader[^`]*)```/.exec(readFileSync(MANUAL, 'utf8')) ?? [];
  await owner.query(script);
  const settings = server.settings(SCHEMA);
  const reader = await connectReplica({
    ...settings,
    url: settings.url.replace('user=usage_ledger', 'user=finance_reader'),
  });
  onTestFinished(() => reader.close());
  expect(await expectSameViews(connection, reader, 'as the reader')).toBeGreaterThan(3);
  expect(await rejection(reader.query('SELECT * FROM tenant_usage'))).toMatchObject({ code: 'replica_denied' });
  expect(await rejection(reader.query('DELETE FROM finance_runs'))).toBeInstanceOf(Error);
});
