import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ReplicaClient } from '../../src/publish/connect.ts';
import { createWorld, FIRST, type World, workspaceSettings } from '../commands/world.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { smallDisk } from './campaign/small-disk.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

let schemas = 0;

/** A world with a replica, and what publishes to it as another user. */
async function publishedWorld(
  at = server,
): Promise<{ world: World; client: ReplicaClient; publishAs: (role: string) => void }> {
  schemas += 1;
  const schema = `doctor_${schemas}`;
  const world = await createWorld(FIRST);
  const publishAs = (role: string): void => {
    const url = at.settings(schema).url.replace('user=usage_ledger', `user=${role}`);
    world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], publish: { url, schema } });
  };
  publishAs('usage_ledger');
  await world.run('sync');
  expect((await world.run('publish')).code).toBe(0);
  const client = await at.connect(schema);
  onTestFinished(() => client.close());
  return { world, client, publishAs };
}

/** What doctor says of the replica. */
async function finding(world: World): Promise<string> {
  const { out } = await world.run('doctor');
  const lines = out.split('\n');
  const at = lines.findIndex((line) => /^\s*(ok|warn|FAIL|fail)\s+replica/.test(line));
  return lines.slice(at, at + 3).join('\n');
}

test('doctor names a user that only reads, by what it may not write and what to do', async () => {
  const { world, client, publishAs } = await publishedWorld();
  expect(await finding(world)).toMatch(/ok\s+replica:\s+holds link 1/);
  await client.query('CREATE ROLE only_reads LOGIN');
  await client.query(
    "DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO only_reads', current_schema()); EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO only_reads', current_schema()); END $$",
  );
  publishAs('only_reads');
  expect(await finding(world)).toMatch(
    /fail\s+replica:\s+the user only_reads may not write to any table of the replica[\s\S]*publish\.url must name the publisher's role/i,
  );
  await client.query('ALTER ROLE usage_ledger SET default_transaction_read_only TO on');
  publishAs('usage_ledger');
  expect(await finding(world)).toMatch(
    /fail\s+replica:\s+the replica takes no writes:[\s\S]*names a standby, or a user that only reads/i,
  );
  await client.query('BEGIN READ WRITE; ALTER ROLE usage_ledger RESET default_transaction_read_only; COMMIT');
});

test.each([
  [
    'INSERT INTO schema_migrations VALUES (9000000000000000, repeat(md5(random()::text), 2))',
    /the replica is of a newer usage-ledger[\s\S]*install that version here/,
  ],
  ['DROP TABLE tenant_usage CASCADE', /table tenant_usage is missing[\s\S]*`usage-ledger publish` mends it/],
  ['DROP TABLE ledgers CASCADE', /table ledgers is missing[\s\S]*`usage-ledger publish` mends it/],
])('doctor names %s with its remedy', async (statement, words) => {
  const { world, client } = await publishedWorld();
  await client.query(statement);
  const said = await finding(world);
  expect(said).toMatch(/fail\s+replica/i);
  expect(said).toMatch(words);
});

test('doctor names a full disk of the server', async () => {
  const disk = smallDisk();
  const small = await startPostgres({ folderParent: disk.folder, options: ['-c', 'max_wal_size=64MB'] });
  onTestFinished(() => small.remove());
  const { world } = await publishedWorld(small);
  disk.fill(small);
  const said = await finding(world);
  expect(said).toMatch(/fail\s+replica/i);
  expect(said).toMatch(
    /No space left on device[\s\S]*make room on the server's disk|check publish\.url, that Postgres runs[\s\S]*and its disk/,
  );
  disk.free();
});
