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
      publish: { url, tls, schema },
      workspaces: [FIRST, SECOND]
        .filter(({ id }) => only.includes(id))
        .map((workspace) => workspaceSettings(world.sandbox, workspace)),
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

test('of two hosts that both say a workspace is theirs it counts where it was first, and the other one is told', async () => {
  const world = await createWorld(FIRST, SECOND);
  const become = hostOf(world, 'early');
  const client = await replicaOf('early');
  become('old', 'ws-1', 'ws-2');
  await run(world, 'sync', 'publish');
  become('new', 'ws-2');
  await run(world, 'sync');
  const second = await world.run('publish');
  expect(second.code).toBe(3);
  expect(second.out).toMatch(/not counted: "ws-2" counts in ledger [\w-]{36}, which reads it, too/);
  expect((await world.run('doctor')).out).toMatch(/"ws-2" counts in ledger/);
  expect(await replicaTotals(client)).toEqual(serviceTotals(world.sandbox));
});

test('of two hosts that read one workspace it counts in the first, until the second one keeps it', async () => {
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
