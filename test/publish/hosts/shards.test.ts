import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { digestAt } from '../../../src/publish/send/position.ts';
import { startFailingRedis } from '../../long/outages/redis-server.ts';
import { freePort } from '../../queue/support.ts';
import { eventually } from '../../support/eventually.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { grow, replicaTotals, SHARDS, serviceTotals, startShardWorld } from './shard-world.ts';

const WORKSPACES = Number(process.env.REPLICA_WORKSPACES ?? 7);
const SCHEMA = 'shards';
const DEADLINE_MS = 60_000 + WORKSPACES * 1_000;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

test(`of three hosts with ${WORKSPACES} workspaces one is lost and rebuilt elsewhere, and its old copy is out when it comes back`, {
  timeout: 5 * DEADLINE_MS,
}, async () => {
  const redis = await startFailingRedis(await freePort());
  onTestFinished(() => redis.stop());
  const world = await startShardWorld(server, { redisUrl: redis.url, schema: SCHEMA, workspaces: WORKSPACES });
  const { sandbox, told } = world;
  const client = await server.connect(SCHEMA);
  onTestFinished(() => client.close());
  const expectTotals = () =>
    eventually(async () => expect(await replicaTotals(client)).toEqual(serviceTotals(sandbox)), DEADLINE_MS);
  const expectHeads = (...names: string[]) =>
    eventually(async () => {
      const rows = await client.query<{ position: bigint; head_digest: string }>(
        'SELECT position, head_digest FROM ledgers',
      );
      const heads = rows.map(({ position, head_digest }) => `${position} ${head_digest}`).sort();
      expect(heads).toEqual(names.map((name) => Object.values(world.head(name)).join(' ')).sort());
    }, DEADLINE_MS);

  const hosts = Array.from({ length: SHARDS }, (_, shard) => `host-${shard}`);
  const lost = 'host-2';
  const ours = world.workspacesOf(2);
  expect(ours.length).toBeGreaterThan(0);
  for (const [shard, name] of hosts.entries()) world.host(name, shard);
  const daemons = new Map(hosts.map((name) => [name, world.daemon(name)]));
  await expectTotals();
  await expectHeads(...hosts);

  // It dies somewhere between its runs and what it publishes of them.
  grow(sandbox, sandbox.workspaces.keys());
  await Promise.all(hosts.map((name) => world.tick(name)));
  await sleep(Math.random() * 3_000);
  const dead = daemons.get(lost);
  dead?.child.kill('SIGKILL');
  expect(await dead?.exit()).toBe('SIGKILL');

  world.host('new', 2);
  const restored = await world.command('new', 'restore', '--from-replica', '--json');
  expect(restored.code, restored.out).toBe(0);
  const { position, head_digest } = JSON.parse(restored.out) as { position: number; head_digest: string };
  expect(world.head('new')).toEqual({ seq: position, digest: head_digest });
  const old = openReader(world.ledgerPath(lost));
  expect(digestAt(old.connection, position)).toBe(head_digest);
  old.close();
  const verified = await world.command('new', 'verify', '--replica');
  expect(verified.code, verified.out).toBe(0);

  const rebuilt = world.daemon('new');
  await rebuilt.line('ready', DEADLINE_MS);
  await world.tick('new');
  await expectTotals();
  await expectHeads('host-0', 'host-1', 'new');

  // The lost host comes back, with the same Redis and the same Postgres.
  const oldHead = world.head(lost);
  const returned = world.daemon(lost);
  expect(await returned.line('the ledger could not be published', DEADLINE_MS)).toMatchObject({
    code: 'replica_refused',
  });
  await eventually(
    () => expect(told.filter(({ host }) => host === lost).map(({ rule }) => rule)).toContain('job_failed'),
    DEADLINE_MS,
  );
  told.length = 0;
  grow(sandbox, sandbox.workspaces.keys(), { jumps: 'acme' });
  await Promise.all(['host-0', 'host-1', 'new', lost].map((name) => world.tick(name)));
  await expectTotals();
  await expectHeads('host-0', 'host-1', 'new');
  const jumps = (host: string) =>
    told
      .filter((one) => one.host === host && one.rule === 'jump')
      .map(({ workspaceId }) => workspaceId)
      .sort();
  await eventually(() => {
    for (const [name, shard] of Object.entries({ 'host-0': 0, 'host-1': 1, new: 2 })) {
      expect(jumps(name), name).toEqual(world.workspacesOf(shard).sort());
    }
  }, DEADLINE_MS);
  // The old copy has done its runs (one that was cut off comes on top), found the same jumps, and kept them to itself.
  await eventually(() => {
    expect(world.head(lost).seq).toBeGreaterThanOrEqual(oldHead.seq + ours.length);
    const found = viewLedger(world.ledgerPath(lost)).value(
      "SELECT count(*) FROM finance_alerts WHERE rule = 'jump' AND state = 'firing'",
    );
    expect(found).toBe(BigInt(ours.length));
  }, DEADLINE_MS);
  expect(told.filter(({ host, rule }) => host === lost && rule !== 'job_failed')).toEqual([]);
  const [row] = await client.query('SELECT count(*) AS ledgers, max(epoch) AS epoch FROM ledgers');
  expect(row).toEqual({ ledgers: BigInt(SHARDS), epoch: 1n });
});
