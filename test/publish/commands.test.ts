import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ReplicaClient } from '../../src/publish/connect.ts';
import { createWorld, FIRST, parseJson, type World, workspaceSettings } from '../commands/world.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

let schemas = 0;

/** A world whose ledger has a replica of its own, with one run that is published. */
async function publishedWorld(): Promise<{ world: World; client: ReplicaClient; head: string }> {
  schemas += 1;
  const schema = `world_${schemas}`;
  const world = await createWorld(FIRST);
  configurePublish(world, { url: server.settings(schema).url, schema });
  await world.run('sync');
  const { code, out, err } = await world.run('publish', '--json');
  expect(code, err).toBe(0);
  const client = await server.connect(schema);
  onTestFinished(() => client.close());
  return { world, client, head: parseJson(out).head_digest };
}

function configurePublish(world: World, publish: Record<string, string>): void {
  world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], publish });
}

/** Changes the ledger behind its back, past its own guards. */
function tamper(world: World, sql: string): void {
  const connection = new Database(world.ledgerPath);
  connection.exec(sql);
  connection.close();
}

function loseLedger(world: World): void {
  rmSync(dirname(world.ledgerPath), { recursive: true });
  mkdirSync(dirname(world.ledgerPath), { mode: 0o700 });
}

test('publish says what it has sent, and that there is nothing new', async () => {
  const { world } = await publishedWorld();
  world.clock.nowMs += 60_000;
  await world.run('sync');
  expect((await world.run('publish')).out).toMatch(
    /^published link(s 2 to 2|.*): 0 entries, \d+ rows in \d+\.\d s\nhead digest \w{64}\n$/,
  );
  expect((await world.run('publish')).out).toMatch(/^nothing to publish: the replica holds link 2 of the chain\n/);
});

test('without publish in the configuration the commands say so', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  for (const argv of [['publish'], ['verify', '--replica'], ['restore', '--from-replica']]) {
    const { code, err } = await world.run(...argv);
    expect(code, argv.join(' ')).toBe(2);
    expect(err).toContain('there is no replica: the configuration has no `publish:`');
  }
});

test('a server that is away, or a schema without a replica, is said with its remedy and without the password', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  configurePublish(world, { url: 'postgres://ledger:s3cret-word@127.0.0.1:1/finance' });
  const away = await world.run('publish');
  expect(away.code).toBe(1);
  expect(away.err).toMatch(/^error: the replica cannot be used now: .*ECONNREFUSED.*\n {2}check publish\.url/);
  expect(away.err).not.toContain('s3cret-word');
  configurePublish(world, { url: server.settings('nothing_here').url, schema: 'nothing_here' });
  expect((await world.run('verify', '--replica')).err).toContain('holds no replica of this version');
});

test('a ledger that was lost is rebuilt from the replica alone, with the same head, and the next sync goes on', async () => {
  const { world, client, head } = await publishedWorld();
  await world.run('tenants', 'list');
  loseLedger(world);
  const restored = await world.run('restore', '--from-replica', '--json');
  expect(restored.code, restored.err).toBe(0);
  expect(parseJson(restored.out)).toMatchObject({ head_digest: head, runs: 1, replaced: null });
  expect((await world.run('verify')).out).toMatch(new RegExp(`^no fault in 1 applied runs[^]*head digest ${head}`));
  world.clock.nowMs += 60_000;
  expect((await world.run('sync')).code).toBe(0);
  expect((await world.run('publish')).code).toBe(0);
  expect((await world.run('verify', '--replica')).out).toMatch(
    /^no fault in the replica: 2 applied runs.*as the ledger has them/,
  );
  expect(await client.query('SELECT position, epoch FROM ledgers')).toEqual([{ position: 2n, epoch: 1n }]);
});

test('the old copy is refused once the ledger was rebuilt elsewhere, and can be put back by hand', async () => {
  const { world } = await publishedWorld();
  const old = `${world.ledgerPath}.old`;
  tamper(world, 'PRAGMA wal_checkpoint(TRUNCATE)');
  copyFileSync(world.ledgerPath, old);
  await world.run('restore', '--from-replica');
  copyFileSync(old, world.ledgerPath);
  const refused = await world.run('publish');
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(/another copy of this ledger has taken its place.*link 1 \(\w{64}\).*link 1 \(\w{64}\)/);
  expect((await world.run('publish', '--replace')).code).toBe(0);
  expect((await world.run('verify', '--replica')).code).toBe(0);
});

test('verify --replica finds a ledger that was rewritten, and a replica that was, and names the first difference', async () => {
  const ledger = await publishedWorld();
  tamper(
    ledger.world,
    'DROP TRIGGER usage_entries_no_update; UPDATE usage_entries SET credits_after = credits_after + 1 WHERE entry_id = 2',
  );
  const rewritten = await ledger.world.run('verify', '--replica');
  expect(rewritten.code).toBe(4);
  expect(rewritten.out).toMatch(
    /FAULT replica: usage_entries \(entry_id 2\): credits_after is (\d+) in the replica, (\d+) in the ledger/,
  );

  const replica = await publishedWorld();
  await replica.client.query('UPDATE usage_entries SET credits_delta = credits_delta + 1 WHERE entry_id = 3');
  const changed = await replica.world.run('verify', '--replica');
  expect(changed.code).toBe(4);
  expect(changed.out).toMatch(/^FAULT chain: run_\w+: in the replica: its digest does not match/m);
  expect(changed.out).toMatch(/FAULT replica: usage_entries \(entry_id 3\): credits_delta is/);
});

test('a history that was rewritten with its digests is found against the replica and its checkpoints', async () => {
  const { world, client } = await publishedWorld();
  tamper(world, 'DROP TRIGGER runs_published_no_update; UPDATE runs SET digest = lower(hex(randomblob(32)))');
  const { code, out } = await world.run('verify', '--replica');
  expect(code).toBe(4);
  expect(out).toMatch(
    /FAULT replica: link 1 of 1: the replica says \w{64}, the ledger says \w{64}: the history of one of them/,
  );
  expect(out).toMatch(
    /FAULT anchor: the replica's checkpoints against the ledger: the checkpoint of link 1 .* history was rewritten/,
  );
  expect(await client.query('SELECT seq FROM checkpoints')).toEqual([{ seq: 1n }]);
});

test('a replica that was rewritten with its digests is found against the ledger and by its own checkpoints', async () => {
  const { world, client } = await publishedWorld();
  await client.query(`UPDATE runs SET digest = repeat('ab', 32) WHERE applied_seq = 1`);
  await client.query(`UPDATE ledgers SET head_digest = repeat('ab', 32)`);
  const { code, out } = await world.run('verify', '--replica');
  expect(code).toBe(4);
  expect(out).toMatch(/FAULT replica: link 1 of 1: the replica says (ab){32}, the ledger says \w{64}:/);
  expect(out).toMatch(
    /FAULT anchor: in the replica: the checkpoint of link 1 .* the chain holds (ab){32}: history was/,
  );
  // The ledger itself is sound by all that stands beside it.
  expect((await world.run('verify', '--checkpoint', join(dirname(world.ledgerPath), 'checkpoints.log'))).code).toBe(0);
});

test('restore asks which ledger when several have the workspaces', async () => {
  const { world, client } = await publishedWorld();
  const [{ ledger_id: first } = { ledger_id: '' }] = await client.query<{ ledger_id: string }>(
    'SELECT ledger_id FROM ledgers',
  );
  loseLedger(world);
  await world.run('sync');
  await world.run('publish');
  loseLedger(world);
  const { code, err } = await world.run('restore', '--from-replica');
  expect(code).toBe(1);
  expect(err).toContain(first);
  expect((await world.run('restore', '--from-replica', '--ledger', first)).code).toBe(0);
});
