import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { headOfChain } from '../../../src/ledger/journal/runs/digest.ts';
import { keepWorkspace, sealWorkspace } from '../../../src/ledger/transfer/moving/seal-workspace.ts';
import { faultsOf } from '../../ledger/transfer/moving/moving-world.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { createWorld, FIRST, parseJson, SECOND, type World, workspaceSettings } from '../world.ts';

/** A host in a folder of its own that does these workspaces; all read one service. */
function become(world: World, name: string, settings: Record<string, unknown> = {}): void {
  world.configure({
    ledger: { path: join(world.folder, name, 'ledger.db') },
    workspaces: [FIRST, SECOND].map((workspace) => workspaceSettings(world.sandbox, workspace)),
    ...settings,
  });
}

function only(world: World, ...ids: string[]): { workspaces: object[] } {
  const listed = [FIRST, SECOND].filter(({ id }) => ids.includes(id));
  return { workspaces: listed.map((workspace) => workspaceSettings(world.sandbox, workspace)) };
}

async function run(world: World, ...argv: string[]): Promise<string> {
  const { code, out, err } = await world.run(...argv);
  expect(code, `${argv.join(' ')}: ${err}`).toBe(0);
  return out;
}

async function refused(world: World, ...argv: string[]): Promise<string> {
  const { code, out, err } = await world.run(...argv);
  expect([code, out], argv.join(' ')).toEqual([1, '']);
  return err;
}

/** A host that has read both, and the file of ws-2's export. */
async function exportedWorld(): Promise<World> {
  const world = await createWorld(FIRST, SECOND);
  become(world, 'old');
  await run(world, 'sync');
  const out = await run(world, 'workspace', 'export', 'ws-2', '--out', 'moved.db');
  expect(out).toMatch(
    /^wrote .*moved\.db, [\d,]+ bytes\nno fault in its 1 applied run, 2 entries\nhead digest \w{64}\nws-2 is not read by this ledger from now on\n$/,
  );
  return world;
}

test('an exported workspace is read and closed nowhere here any more, and says so, until it is kept after all', async () => {
  const world = await exportedWorld();
  world.clock.nowMs += 3_600_000;
  const synced = await world.run('sync', '--json');
  expect(synced.code).toBe(0);
  expect(parseJson(synced.out).workspaces).toMatchObject([
    { workspace_id: 'ws-1', status: 'applied' },
    { workspace_id: 'ws-2', status: 'moved' },
  ]);
  expect(synced.err).toContain('ws-2: exported from this ledger, it is read elsewhere');
  const named = await world.run('sync', '--workspace', 'ws-2');
  expect(named.code).toBe(1);
  expect(named.err).toContain('workspace "ws-2" has been exported from this ledger');
  expect(await refused(world, 'close', '2026-02', '--workspace', 'ws-2', '--force')).toContain('has been exported');
  expect(await run(world, 'status', '--workspace', 'ws-2')).toMatch(/moved +ws-2/);
  expect(await run(world, 'status')).toMatch(/^1 of 1 workspaces are fresh\n/);
  expect(parseJson(await run(world, 'status', '--json')).workspaces).toMatchObject([
    { state: 'fresh' },
    { state: 'moved' },
  ]);
  // Its history stays, and a second export changes nothing but the file.
  expect(await run(world, 'usage', '--workspace', 'ws-2', '--format', 'csv')).toContain('initech');
  expect(await run(world, 'workspace', 'export', 'ws-2', '--out', 'again.db')).toContain('ws-2 was exported before');

  expect(await run(world, 'workspace', 'keep', 'ws-2')).toContain('ws-2 is read here again');
  expect(await refused(world, 'workspace', 'keep', 'ws-2')).toContain('is not exported');
  world.clock.nowMs += 3_600_000;
  expect(parseJson(await run(world, 'sync', '--json')).workspaces).toMatchObject([
    { status: 'applied' },
    { status: 'applied' },
  ]);
  expect(await run(world, 'verify')).toContain('no fault in');
});

test('an import makes the ledger, says where the history comes from, and is done once', async () => {
  const world = await exportedWorld();
  become(world, 'new', only(world, 'ws-2'));
  const out = await run(world, 'workspace', 'import', 'moved.db');
  expect(out).toMatch(
    /^imported ws-2: 1 link of the chain, 2 entries, 2 tenants in 1 period, \d alerts?\nfrom ledger [\w-]{36} at link 3, head digest \w{64}\nno fault in the whole ledger with it\nhead digest \w{64}\n$/,
  );
  expect(await refused(world, 'workspace', 'import', 'moved.db')).toMatch(
    /was imported from that ledger already, at 2026-02-20/,
  );
  expect(parseJson(await run(world, 'status', '--json')).workspaces).toMatchObject([
    { workspace_id: 'ws-2', state: 'fresh' },
  ]);
  expect(readdirSync(join(world.folder, 'new')).filter((name) => name.includes('importing'))).toEqual([]);
  // It may move on, and goes on naming the ledger that made its first links.
  await run(world, 'workspace', 'export', 'ws-2', '--out', 'further.db');
  become(world, 'third', only(world, 'ws-2'));
  await run(world, 'workspace', 'import', 'further.db');
  expect(await run(world, 'verify')).toContain('no fault in');
  const origins = (name: string) => {
    const connection = new Database(join(world.folder, name, 'ledger.db'), { readonly: true });
    const rows = connection.prepare('SELECT ledger_id, origin_seq, origin_digest FROM moved_links').all();
    connection.close();
    return rows;
  };
  expect(origins('third')).toEqual(origins('new'));
});

/** Adds a run to a copy of the file, by the program's own means; returns the head that the export has said. */
async function forgeTail(world: World): Promise<string> {
  const file = join(world.folder, 'forged.db');
  copyFileSync(join(world.folder, 'moved.db'), file);
  const { connection } = openLedger(file);
  const { digest } = headOfChain(connection);
  const request = { workspaceId: 'ws-2', by: 'Eve', nowMs: world.clock.nowMs + 3_600_000 };
  keepWorkspace(connection, { ...request, from: null });
  await publish(connection, [usageRecord('initech', 999, '2026-02')], request);
  sealWorkspace(connection, request);
  expect(faultsOf(connection)).toEqual([]);
  connection.close();
  return digest;
}

test('what cannot become one history is refused with its remedy, and nothing is changed', async () => {
  const world = await exportedWorld();
  const expectRefused = async (message: string | RegExp, ...argv: string[]) => {
    const err = await refused(world, 'workspace', 'import', ...argv);
    expect(err).toMatch(message);
    expect(err.trim().split('\n').length, err).toBeGreaterThan(1);
    expect(parseJson(await run(world, 'verify', '--json')).ok).toBe(true);
  };
  await expectRefused(/an export of this very ledger/, 'moved.db');
  await run(world, 'backup', 'plain.db');
  await run(world, 'workspace', 'keep', 'ws-2');
  await run(world, 'backup', 'kept.db');

  become(world, 'new', only(world, 'ws-1'));
  await run(world, 'sync');
  become(world, 'new', only(world, 'ws-2'));
  await expectRefused(/holds a ledger, and no export of a workspace/, 'kept.db');
  await expectRefused(/there is no file/, 'nowhere.db');
  await expectRefused(/is not what was exported/, 'moved.db', '--expect-head', 'f'.repeat(64));
  // What follows the head that was noted may have been forged: it must be the last link.
  await expectRefused(/is not what was exported/, 'forged.db', '--expect-head', await forgeTail(world));
  become(world, 'new', {
    ...only(world, 'ws-2'),
    rates: [{ name: 'other', from_period: '2025-11', currency: 'EUR', price_per_credit: '1' }],
  });
  await run(world, 'rates', 'apply', '--yes');
  await expectRefused(/the rate cards in force here are not those/, 'moved.db');
  become(world, 'new', only(world, 'ws-2'));
  await run(world, 'rates', 'clear', '--yes');

  copyFileSync(join(world.folder, 'moved.db'), join(world.folder, 'altered.db'));
  const altered = new Database(join(world.folder, 'altered.db'));
  altered.exec(
    'DROP TRIGGER usage_entries_no_update; UPDATE usage_entries SET credits_delta = 71, credits_after = 71 WHERE credits_after = 70',
  );
  altered.close();
  await expectRefused(/altered\.db is not sound: chain: run_\w+: its digest does not match/, 'altered.db');
  const other = new Database(join(world.folder, 'other.db'));
  other.exec('CREATE TABLE notes (note)');
  other.close();
  await expectRefused(/holds no ledger/, 'other.db');

  const reader = new Database(join(world.folder, 'new', 'ledger.db'));
  reader.prepare('SELECT 1 FROM runs').get();
  await expectRefused(/another process has .*ledger\.db open/, 'moved.db');
  reader.close();

  // Read here before the import: two histories.
  await run(world, 'sync');
  await expectRefused(/has a history of workspace "ws-2" of its own/, 'moved.db');
});

test('an export needs a file that may be written, and a workspace with a history', async () => {
  const world = await createWorld(FIRST, SECOND);
  become(world, 'old');
  await run(world, 'sync');
  expect((await world.run('workspace', 'export', 'ws-2')).code).toBe(2);
  const unknown = await world.run('workspace', 'export', 'ws-9', '--out', 'a.db');
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('has no history of workspace "ws-9"') });
  expect(await refused(world, 'workspace', 'export', 'ws-2', '--out', 'missing/a.db')).toContain('there is no folder');
  // Nothing was closed by that.
  world.clock.nowMs += 3_600_000;
  expect(parseJson(await run(world, 'sync', '--json')).workspaces).toMatchObject([
    { status: 'applied' },
    { status: 'applied' },
  ]);
});
