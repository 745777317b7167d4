import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getTableConfig } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { addSilence } from '../../src/alerts/book/actions.ts';
import { headOfChain } from '../../src/ledger/journal/runs/digest.ts';
import type { LedgerConnection } from '../../src/ledger/store/file/open.ts';
import { connectReplica, type ReplicaClient } from '../../src/publish/connect.ts';
import { migrateReplica } from '../../src/publish/replica/migrate-replica.ts';
import { mirrorTables } from '../../src/publish/replica/mirrors.ts';
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
  return client;
}

function send(connection: LedgerConnection, client: ReplicaClient): Promise<PublishReport> {
  return publishLedger({ connection, client, by: 'test', nowMs: NOON });
}

/** The same ledger twice, as a copy of its file is. */
function twoCopies(): [LedgerConnection, LedgerConnection] {
  const original = openLedger();
  runWith(original.connection, [usageRecord('acme', 10)]);
  original.connection.pragma('wal_checkpoint(TRUNCATE)');
  const path = join(temporaryFolder(), 'copy.db');
  copyFileSync(original.path, path);
  return [original.connection, openLedger(path).connection];
}

test('what has been published is not sent again, and what is new is', async () => {
  const client = await replica();
  const { connection } = openLedger();
  runWith(connection, [usageRecord('acme', 10), usageRecord('globex', 7)]);
  expect(await send(connection, client)).toMatchObject({ from: 0, to: 1, entries: 2 });
  expect(await send(connection, client)).toMatchObject({ from: 1, to: 1, entries: 0, rows: 0 });
  const { digest } = runWith(connection, [usageRecord('acme', 12), usageRecord('globex', 7)], { nowMs: NOON + 1000 });
  expect(await send(connection, client)).toMatchObject({ from: 1, to: 2, entries: 1, headDigest: digest });
  await expectSameTables(connection, client, 'in the end');
});

test('identifiers keep every byte, also those that Postgres has no text for', async () => {
  const client = await replica();
  const { connection } = openLedger();
  const ids = ['a\0b', 'a␀0b', '␀', '\\N', 'tab\tline\nfeed\rback\\slash', "o'hara", '𝔘nicode'];
  runWith(
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
  const [one, other] = twoCopies();
  await send(one, client);
  expect((await send(other, client)).rows, 'they are the same so far').toBe(0);
  const ours = runWith(one, [usageRecord('acme', 11)], { nowMs: NOON + 1000 });
  const theirs = runWith(other, [usageRecord('acme', 12)], { nowMs: NOON + 1000 });
  await send(one, client);
  const error = await rejection(send(other, client));
  expect(error).toMatchObject({ code: 'replica_refused', retryable: false });
  expect(error.message).toContain(ours.digest);
  expect(error.message).toContain(theirs.digest);
  await expectSameTables(one, client, 'after the refusal');
});

test('a copy that is behind, or has parted beside the chain, is refused as well', async () => {
  const client = await replica();
  const [one, behind] = twoCopies();
  runWith(one, [usageRecord('acme', 11)], { nowMs: NOON + 1000 });
  await send(one, client);
  expect(await rejection(send(behind, client))).toMatchObject({ code: 'replica_refused' });

  const [first, second] = twoCopies();
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
  runWith(connection, [usageRecord('acme', 10)]);
  const clients = await Promise.all([server.connect('at_once'), server.connect('at_once'), server.connect('at_once')]);
  for (const client of clients) onTestFinished(() => client.close());
  const applied = await Promise.all(clients.map((client) => migrateReplica(client, 'at_once')));
  expect(applied.filter((count) => count > 0)).toHaveLength(1);
  const reports = await Promise.all(clients.map((client) => send(openLedger(path).connection, client)));
  expect(reports.map(({ entries }) => entries).sort()).toEqual([0, 0, 1]);
  for (const client of clients) await expectSameTables(connection, client, 'at once');
});

test('many ledgers lie side by side in one schema', async () => {
  const client = await replica();
  const ledgers = [openLedger().connection, openLedger().connection];
  for (const [index, connection] of ledgers.entries()) {
    runWith(connection, [usageRecord('acme', 10 + index)], { workspaceId: `ws-${index}` });
    await send(connection, client);
  }
  for (const connection of ledgers) expect(await expectSameViews(connection, client, 'one of two')).toBeGreaterThan(3);
});

test('the tables of the replica are those that drizzle knows', async () => {
  const client = await replica();
  const found = await client.query<{ name: string; columns: string[] }>(
    `SELECT c.table_name AS name, array_agg(c.column_name || ' ' || c.data_type || ' ' || c.is_nullable || ' ' || coalesce(c.collation_name, '')
       ORDER BY c.column_name) AS columns FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE c.table_schema = $1 AND t.table_type = 'BASE TABLE' AND c.table_name NOT IN ('ledgers', 'checkpoints', 'schema_migrations')
     GROUP BY c.table_name ORDER BY c.table_name`,
    [SCHEMA],
  );
  const expected = mirrorTables.map((table) => {
    const { name, columns } = getTableConfig(table);
    const said = columns.map((column) => {
      const [type, collation = ''] = column.getSQLType().split(' COLLATE ');
      return `${column.name} ${type} ${column.notNull ? 'NO' : 'YES'} ${collation.replaceAll('"', '')}`;
    });
    return { name, columns: said.sort() };
  });
  const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
  expect(found.map(({ name, columns }) => ({ name, columns: [...columns].sort() })).sort(byName)).toEqual(
    expected.sort(byName),
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
  runWith(connection, [usageRecord('acme', 10)]);
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
