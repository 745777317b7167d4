import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { createWorld, FIRST, NOON, parseJson, SECOND, type World, workspaceSettings } from './world.ts';

const MINUTE_MS = 60_000;

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgres();
});

afterAll(() => server.remove());

/** Two workspaces, of which `only` has a ledger of its own. */
function hostOf(world: World, only: string, schema: string): void {
  const { url, tls } = server.settings(schema);
  world.configure({
    ledger: { path: join(world.folder, `${only}.db`) },
    publish: { url, tls, schema },
    workspaces: [FIRST, SECOND]
      .filter(({ id }) => id === only)
      .map((workspace) => workspaceSettings(world.sandbox, workspace)),
  });
}

test('every ledger stands in the replica, the one that published the longest ago first', async () => {
  const world = await createWorld(FIRST, SECOND);
  hostOf(world, 'ws-2', 'hosts');
  const nothing = await world.run('status', '--replica');
  expect(nothing).toMatchObject({ code: 2, out: '' });
  expect(nothing.err).toContain('nothing has been published to this schema yet');

  for (const [at, only] of ['ws-2', 'ws-1'].entries()) {
    hostOf(world, only, 'hosts');
    world.clock.nowMs = NOON + at * 3 * MINUTE_MS;
    expect((await world.run('sync')).code).toBe(0);
    expect((await world.run('publish')).code).toBe(0);
  }
  world.clock.nowMs = NOON + 8 * MINUTE_MS;

  const { ledgers } = parseJson((await world.run('status', '--replica', '--json')).out);
  expect(ledgers).toMatchObject([
    { age_seconds: 480, position: 1, workspaces: 1, failing: 0, oldest_complete_run_at: '2026-02-20T12:00:00.000Z' },
    { age_seconds: 300, position: 1, workspaces: 1, failing: 0, oldest_complete_run_at: '2026-02-20T12:03:00.000Z' },
  ]);
  const screen = await world.runOnTerminal(80, 'status', '--replica');
  expect(screen.code).toBe(0);
  expect(screen.out).toContain('2 ledgers with 2 workspaces in the replica');
  for (const line of screen.out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  expect(screen.out).toMatch(/8 min ago[\s\S]*5 min ago/);

  const first = await world.run('status', '--replica', '--limit', '1');
  expect(first.out).toMatch(/8 min ago[\s\S]*\n1 more\n$/);
  expect(first.out).not.toContain('5 min ago');
  expect(parseJson((await world.run('status', '--replica', '--limit', '1', '--json')).out).ledgers).toHaveLength(1);
  // Of whatever host.
  const having = await world.run('status', '--replica', '--workspace', 'ws-2', '--json');
  expect(parseJson(having.out).ledgers).toMatchObject([{ age_seconds: 480 }]);
  expect((await world.run('status', '--replica', '--workspace', 'ws-9')).out).toContain('no such ledger');
  expect(await world.run('status', '--replica', '--watch')).toMatchObject({
    code: 2,
    err: expect.stringContaining('terminal'),
  });
  let shown = 0;
  const ended = world.runWatched(
    80,
    (out) => {
      shown = out.split('2 ledgers with 2 workspaces').length - 1;
    },
    ...['status', '--replica', '--watch', '1'],
  );
  await eventually(() => expect(shown).toBeGreaterThanOrEqual(2));
  process.emit('SIGINT');
  expect((await ended).code).toBe(130);
});

test('a run that has failed is counted, and a replica is needed', async () => {
  const world = await createWorld(FIRST);
  const without = await world.run('status', '--replica');
  expect(without).toMatchObject({ code: 2, out: '' });
  expect(without.err).toContain('publish.url');
  const { url, tls } = server.settings('failing');
  const settings = workspaceSettings(world.sandbox, FIRST);
  const configure = (secret: string): void =>
    world.configure({ publish: { url, tls, schema: 'failing' }, workspaces: [{ ...settings, secret_key: secret }] });
  configure('sk_wrong_not_a_secret');
  expect((await world.run('sync')).code).toBe(1);
  await world.run('publish');
  expect(parseJson((await world.run('status', '--replica', '--json')).out).ledgers).toMatchObject([
    { workspaces: 1, never_complete: 1, failing: 1, position: 0, head_at: null, oldest_complete_run_at: null },
  ]);
  expect((await world.run('status', '--replica')).out).toMatch(/1, 1 failing +never/);
});

test('status and doctor say how far the replica is behind, and why when it is not known', async () => {
  const world = await createWorld(FIRST);
  const { url, tls } = server.settings('behind');
  const workspaces = [workspaceSettings(world.sandbox, FIRST)];
  const publishTo = (more: Record<string, unknown>): void =>
    world.configure({ publish: { url, tls, ...more }, workspaces });
  const replicaCheck = async (): Promise<unknown> =>
    parseJson((await world.run('doctor', '--json')).out).checks.find(
      ({ check }: { check: string }) => check === 'replica',
    );
  publishTo({ schema: 'behind' });
  await world.run('sync');
  expect((await world.run('status')).out).toContain(
    'replica holds nothing of this ledger yet, 1 link waits, the first for 0 s\n',
  );
  await world.run('publish');
  expect((await world.run('status')).out).toContain('replica holds link 1, nothing waits\n');
  expect(await replicaCheck()).toMatchObject({ status: 'ok', message: 'holds link 1, nothing waits' });

  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 6000, requests: 10 });
  world.clock.nowMs = NOON + MINUTE_MS;
  await world.run('sync');
  world.clock.nowMs = NOON + 61 * MINUTE_MS;
  const { replica } = parseJson((await world.run('status', '--json')).out);
  expect(replica).toEqual({ position: 1, lag_links: 1, lag_seconds: 3600, fault: null });
  expect(await replicaCheck()).toMatchObject({
    status: 'warn',
    message: 'holds link 1, 1 link waits, the first for 3600 s',
  });

  world.configure({ publish: { url: 'postgres:///x?host=/nowhere', tls, schema: 'behind' }, workspaces });
  expect((await world.run('status')).out).toContain('replica the replica cannot be used now: ');
  expect(await replicaCheck()).toMatchObject({
    status: 'fail',
    message: expect.stringContaining('cannot be used now'),
  });
});

test('doctor and verify name a view that somebody has rewritten, and publish mends it and says so', async () => {
  const world = await createWorld(FIRST);
  const { url, tls } = server.settings('mended');
  world.configure({ publish: { url, tls, schema: 'mended' }, workspaces: [workspaceSettings(world.sandbox, FIRST)] });
  await world.run('sync');
  await world.run('publish');
  const client = await server.connect('mended');
  onTestFinished(() => client.close());
  const fault = 'view finance_runs is not the one of this version';
  const [{ text = '' } = {}] = await client.query<{ text: string }>("SELECT pg_get_viewdef('finance_runs') AS text");
  await client.query(`CREATE OR REPLACE VIEW finance_runs AS ${text.replace(';', '')} LIMIT 0`);

  const { checks } = parseJson((await world.run('doctor', '--json')).out);
  expect(checks).toContainEqual(expect.objectContaining({ check: 'replica', status: 'fail', message: fault }));
  const verified = await world.run('verify', '--replica');
  expect([verified.code, verified.out]).toEqual([4, expect.stringContaining(`FAULT replica: ${fault}`)]);

  expect((await world.run('publish')).out).toMatch(new RegExp(`^mended in the replica: ${fault}\nnothing to publish`));
  expect((await world.run('verify', '--replica')).code).toBe(0);
});
