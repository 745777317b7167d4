import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createWorld, FIRST, parseJson, row, SECOND, type World, workspaceSettings } from '../../commands/world.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { shownOf } from '../views/compare-views.ts';
import { replicaTotals, serviceTotals } from './shard-world.ts';

const CARD = { name: 'flat', from_period: '2025-11', currency: 'EUR', price_per_credit: '0.09' };
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
      ledger: { path: join(world.folder, name, 'ledger.db') },
      publish: { url, tls, schema },
      rates: [CARD],
      workspaces: [FIRST, SECOND]
        .filter(({ id }) => only.includes(id))
        .map((workspace) => workspaceSettings(world.sandbox, workspace)),
    });
}

async function run(world: World, command: string): Promise<string> {
  const { code, out, err } = await world.run(...command.split(' '));
  expect(code, `${command}: ${err}`).toBe(0);
  return out;
}

/** What the service says, but for the month that was closed before the service corrected it. */
function expectedTotals(world: World): string[] {
  return serviceTotals(world.sandbox).map((line) => (line === 'ws-2 2025-12 65' ? 'ws-2 2025-12 60' : line));
}

test('an exported workspace is imported with its history: all views over all ledgers stay as they were', {
  timeout: 600_000,
}, async () => {
  const world = await createWorld(FIRST, {
    ...SECOND,
    usage: [
      row('acme', '2025-12', 60),
      row('acme', '2026-01', 70),
      row('acme', '2026-02', 7000),
      row('hooli', '2026-02', 5),
    ],
  });
  const become = hostOf(world, 'exported');
  const client = await server.connect('exported');
  onTestFinished(() => client.close());
  const ws2 = world.sandbox.workspace('ws-2');
  become('old', 'ws-1', 'ws-2');
  await run(world, 'migrate');
  await run(world, 'rates apply --yes');
  await run(world, 'sync');
  await run(world, 'close 2025-12 --workspace ws-2 --force --by Ada');
  ws2.set({ tenantId: 'acme', period: '2025-12', credits: 65, requests: 10 });
  world.clock.nowMs += 3_600_000;
  await run(world, 'sync --workspace ws-2 --from 2025-12');
  // It is booked here, so this close commits to the number of an entry.
  await run(world, 'close 2026-01 --workspace ws-2 --force --by Ada');
  const alerts = parseJson(await run(world, 'alerts list --workspace ws-2 --json')).alerts as { alert_id: string }[];
  await run(world, `alerts feedback ${alerts[0]?.alert_id} real --by Bo`);
  const statement = await run(world, 'statement 2026-01 --workspace ws-2 --json');
  expect(statement).toContain('correction');
  await run(world, 'publish');
  copyFileSync(join(world.folder, 'old', 'checkpoints.log'), join(world.folder, 'kept.log'));
  const before = await shownOf(client, 'ws-2');
  // By the clock of Postgres no month is open.
  expect(Object.entries(before).filter(([, rows]) => rows.length === 0)).toEqual([['finance_month_to_date', []]]);

  await run(world, 'workspace export ws-2 --out moved.db');
  // Nobody has it yet: it counts where it was, and may be kept.
  await run(world, 'workspace keep ws-2');
  const exported = parseJson(await run(world, 'workspace export ws-2 --out moved.db --force --json'));
  expect((await shownOf(client, 'ws-2')).finance_usage).toEqual(before.finance_usage);
  expect(await replicaTotals(client)).toEqual(expectedTotals(world));
  become('new', 'ws-2');
  await run(world, 'migrate');
  await run(world, 'rates apply --yes');
  const imported = parseJson(
    await run(world, `workspace import moved.db --expect-head ${exported.head_digest} --json`),
  );
  expect(imported).toMatchObject({ workspace_id: 'ws-2', links: 4, entries: exported.entries });
  await run(world, 'publish');
  // The old host has not published since and may never do.
  expect(await shownOf(client, 'ws-2')).toEqual(before);
  become('old', 'ws-1');
  await run(world, 'publish');
  become('new', 'ws-2');
  expect(await shownOf(client, 'ws-2')).toEqual(before);
  expect(await client.query("SELECT DISTINCT ledger_id FROM finance_history WHERE workspace_id = 'ws-2'")).not.toEqual(
    await client.query("SELECT DISTINCT ledger_id FROM finance_history WHERE workspace_id = 'ws-1'"),
  );
  // What was proven then is proven here: the same leaves, the same root.
  const here = parseJson(await run(world, 'statement 2026-01 --workspace ws-2 --json'));
  const there = parseJson(statement);
  expect(here.proof.root).toBe(there.proof.root);
  expect(here.tenants).toEqual(there.tenants);

  // The next sync finds what has changed, and nothing else.
  ws2.set({ tenantId: 'hooli', period: '2026-02', credits: 6, requests: 10 });
  world.clock.nowMs += 3_600_000;
  const synced = parseJson(await run(world, 'sync --json')).workspaces;
  expect(synced).toMatchObject([{ workspace_id: 'ws-2', entries: 1, alerts: [] }]);
  await run(world, 'publish');
  expect(await run(world, 'verify --replica')).toContain('no fault in the replica');
  expect(await replicaTotals(client)).toEqual(expectedTotals(world));

  become('old', 'ws-1');
  const kept = await world.run('workspace', 'keep', 'ws-2');
  expect(kept).toMatchObject({ code: 1, out: '' });
  expect(kept.err).toMatch(/ledger [\w-]{36} of the replica goes on with "ws-2"\n {2}leave it there/);
  await run(world, 'sync');
  await run(world, 'publish');
  expect(await run(world, 'verify --replica')).toContain('no fault in the replica');
  expect(await run(world, `verify --checkpoint ${join(world.folder, 'kept.log')}`)).toContain('no fault in');
  expect(await replicaTotals(client)).toEqual(expectedTotals(world));
  // Either host may be lost.
  for (const [lost, workspace] of [
    ['old', 'ws-1'],
    ['new', 'ws-2'],
  ] as const) {
    become(`${lost}-again`, workspace);
    const [held] = await client.query<{ ledger_id: string }>(
      'SELECT DISTINCT ledger_id FROM finance_history WHERE workspace_id = $1',
      [workspace],
    );
    await run(world, `restore --from-replica --ledger ${held?.ledger_id}`);
    expect(await run(world, 'verify')).toContain('no fault in');
  }
});
