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
  await run(world, 'sync', 'publish');
  // Two hosts that both say it is theirs are both believed.
  expect(await replicaTotals(client)).toHaveLength(serviceTotals(world.sandbox).length + 1);
  become('old', 'ws-1');
  await run(world, 'publish');
  expect(await replicaTotals(client)).toEqual(serviceTotals(world.sandbox));
  // Taken back.
  become('new', 'ws-1');
  await run(world, 'publish');
  become('old', 'ws-1', 'ws-2');
  await run(world, 'publish');
  expect(await replicaTotals(client)).toEqual(serviceTotals(world.sandbox));
});
