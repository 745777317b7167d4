import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ReplicaClient } from '../../../src/publish/connect.ts';
import { createWorld, FIRST, SECOND, type World, workspaceSettings } from '../../commands/world.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { replicaTotals, serviceTotals } from './shard-world.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

/** A host with a ledger of its own that does these workspaces of the two. */
function hostOf(world: World, schema: string): (name: string, ...only: string[]) => void {
  const { url, tls } = server.settings(schema);
  return (name, ...only) =>
    world.configure({
      ledger: { path: join(world.folder, `${name}.db`) },
      shard: { only },
      publish: { url, tls, schema },
      workspaces: [FIRST, SECOND].map((workspace) => workspaceSettings(world.sandbox, workspace)),
    });
}

async function run(world: World, ...commands: string[]): Promise<void> {
  for (const command of commands) {
    const { code, err } = await world.run(...command.split(' '));
    expect(code, `${command}: ${err}`).toBe(0);
  }
}

async function replicaOf(schema: string): Promise<ReplicaClient> {
  const client = await server.connect(schema);
  onTestFinished(() => client.close());
  return client;
}

test('a workspace that moves to another host is counted once at every moment, and its old ledger stays whole', async () => {
  const world = await createWorld(FIRST, SECOND);
  const become = hostOf(world, 'moved');
  const client = await replicaOf('moved');
  const expectOnce = async () => expect(await replicaTotals(client)).toEqual(serviceTotals(world.sandbox));
  become('old', 'ws-1', 'ws-2');
  await run(world, 'sync', 'publish');
  await expectOnce();
  const [history] = await client.query('SELECT count(*) AS entries FROM finance_history');

  // The configuration says so on both hosts; nobody has read it anew yet.
  become('old', 'ws-1');
  await run(world, 'publish');
  await expectOnce();
  become('new', 'ws-2');
  await run(world, 'sync', 'publish');
  await expectOnce();
  expect(await client.query('SELECT count(*) AS entries FROM finance_history')).toEqual([history]);
  expect(await client.query('SELECT workspace_id FROM finance_freshness ORDER BY 1')).toEqual([
    { workspace_id: 'ws-1' },
    { workspace_id: 'ws-2' },
  ]);

  // Both go on, and neither ledger has lost anything.
  world.sandbox.workspace('ws-2').set({ tenantId: 'acme', period: '2026-02', credits: 7000, requests: 10 });
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 6000, requests: 10 });
  world.clock.nowMs += 60_000;
  await run(world, 'sync', 'publish', 'verify --replica');
  become('old', 'ws-1');
  await run(world, 'sync', 'publish', 'verify --replica');
  await expectOnce();
  const rows = await client.query(
    'SELECT l.elsewhere, count(*) AS held FROM ledgers l JOIN workspaces w USING (ledger_key) GROUP BY l.ledger_key ORDER BY 2',
  );
  expect(rows).toEqual([
    { elsewhere: [], held: 1n },
    { elsewhere: ['ws-2'], held: 2n },
  ]);
});

test('the order does not matter: the new host may be first', async () => {
  const world = await createWorld(FIRST, SECOND);
  const become = hostOf(world, 'early');
  const client = await replicaOf('early');
  become('old', 'ws-1', 'ws-2');
  await run(world, 'sync', 'publish');
  become('new', 'ws-2');
  await run(world, 'sync');
  // Two hosts that both say it is theirs: it counts where it was first, and the other one is told.
  const second = await world.run('publish');
  expect(second.code).toBe(3);
  expect(second.out).toMatch(/not counted: "ws-2" counts in ledger [\w-]{36}, which reads it, too/);
  expect((await world.run('doctor')).out).toMatch(/"ws-2" counts in ledger/);
  expect(await replicaTotals(client)).toEqual(serviceTotals(world.sandbox));
  become('old', 'ws-1');
  await run(world, 'publish');
  expect(await replicaTotals(client)).toEqual(serviceTotals(world.sandbox));
  become('new', 'ws-2');
  await run(world, 'publish');
  // Taken back.
  become('new', 'ws-1');
  await run(world, 'publish');
  become('old', 'ws-1', 'ws-2');
  await run(world, 'publish');
  expect(await replicaTotals(client)).toEqual(serviceTotals(world.sandbox));
});

test('of two hosts that read one workspace without a shard it counts in the first, until the second one keeps it', async () => {
  const world = await createWorld(FIRST);
  const become = hostOf(world, 'both');
  const client = await replicaOf('both');
  const holders = async () => (await client.query('SELECT DISTINCT ledger_id FROM finance_history')).length;
  const ledgerOf = async () => (await client.query('SELECT DISTINCT ledger_id FROM finance_usage'))[0]?.ledger_id;
  become('first', 'ws-1');
  await run(world, 'sync', 'publish');
  const first = await ledgerOf();
  become('second', 'ws-1');
  await run(world, 'sync');
  expect((await world.run('publish')).code).toBe(3);
  expect(await replicaTotals(client)).toEqual(serviceTotals(world.sandbox));
  expect([await ledgerOf(), await holders()]).toEqual([first, 1]);

  expect(await world.run('workspace', 'keep', 'ws-1')).toMatchObject({
    code: 1,
    err: expect.stringContaining(`${first}`),
  });
  world.clock.nowMs += 60_000;
  await run(world, 'workspace keep ws-1 --force', 'publish', 'verify', 'verify --replica');
  expect(await replicaTotals(client)).toEqual(serviceTotals(world.sandbox));
  expect(await ledgerOf()).not.toBe(first);
  become('first', 'ws-1');
  await run(world, 'sync');
  expect((await world.run('publish')).code).toBe(3);
  world.clock.nowMs += 60_000;
  await run(world, 'workspace keep ws-1 --force', 'publish');
  expect([await ledgerOf(), await holders()]).toEqual([first, 1]);
});

test('an export that was imported elsewhere counts there, until the old host takes it back by force', async () => {
  const world = await createWorld(FIRST, SECOND);
  const become = hostOf(world, 'taken_back');
  const client = await replicaOf('taken_back');
  const ledgerOf = async () =>
    (await client.query("SELECT DISTINCT ledger_id FROM finance_usage WHERE workspace_id = 'ws-2'"))[0]?.ledger_id;
  become('old', 'ws-1', 'ws-2');
  await run(world, 'sync', 'publish', 'workspace export ws-2 --out first.db');
  const old = await ledgerOf();
  world.clock.nowMs += 60_000;
  // The file that is brought along ends with a later link than the export was made at.
  await run(world, 'sync', 'publish', 'workspace export ws-2 --out moved.db');
  become('new', 'ws-2');
  await run(world, 'migrate', 'workspace import moved.db', 'publish');
  expect(await ledgerOf()).not.toBe(old);
  become('old', 'ws-1', 'ws-2');
  await run(world, 'publish');
  expect(await ledgerOf()).not.toBe(old);
  world.clock.nowMs += 60_000;
  await run(world, 'workspace keep ws-2 --force', 'publish');
  expect(await ledgerOf()).toBe(old);
  expect(await replicaTotals(client)).toEqual(serviceTotals(world.sandbox));
});
