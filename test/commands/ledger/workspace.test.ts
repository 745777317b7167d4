import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { createWorld, FIRST, parseJson, SECOND, type World, workspaceSettings } from '../world.ts';

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

const WHY = ['--note', 'contract ended', '--by', 'ada'];

test('a workspace that was ended is read and closed nowhere any more, and says so, until the end is taken back', async () => {
  const world = await createWorld(FIRST, SECOND);
  await run(world, 'sync');
  expect(await run(world, 'workspace', 'end', 'ws-2', ...WHY)).toMatch(
    /^ws-2 ended: this ledger no longer reads it, and keeps its history\nno notifications: none of its open alerts had been sent\nhead digest \w{64}\n$/,
  );
  world.clock.nowMs += 3_600_000;
  const synced = await world.run('sync', '--json');
  expect(synced.code).toBe(0);
  expect(parseJson(synced.out).workspaces).toMatchObject([
    { workspace_id: 'ws-1', status: 'applied' },
    { workspace_id: 'ws-2', status: 'ended' },
  ]);
  expect(synced.err).toContain('ws-2: ended, no longer read by this ledger');
  const words = 'workspace "ws-2" was ended at 2026-02-20T12:00:00.000Z by ada: contract ended';
  const named = await world.run('sync', '--workspace', 'ws-2');
  expect([named.code, named.err]).toEqual([1, expect.stringContaining(words)]);
  expect(await refused(world, 'close', '2026-02', '--workspace', 'ws-2', '--force')).toContain(words);
  // The same person may not have seen the first answer; another one is refused.
  expect(await run(world, 'workspace', 'end', 'ws-2', ...WHY)).toContain('ws-2 ended');
  expect(await refused(world, 'workspace', 'end', 'ws-2', '--note', 'again', '--by', 'bo')).toContain(words);
  expect((await world.run('doctor')).out).toMatch(
    /ended ws-2: the workspace was ended in this ledger and is no longer read/,
  );
  expect(await run(world, 'status', '--workspace', 'ws-2')).toMatch(/ended +ws-2/);
  expect(await run(world, 'status')).toMatch(/^1 of 1 workspaces are fresh\n/);
  expect(await run(world, 'export', 'finance_freshness', '--format', 'csv')).not.toContain('ws-2');
  expect(await run(world, 'export', 'finance_month_to_date', '--format', 'csv')).not.toContain('ws-2');
  // Its history stays.
  expect(await run(world, 'usage', '--workspace', 'ws-2', '--format', 'csv')).toContain('initech');

  expect(await run(world, 'workspace', 'resume', 'ws-2', '--note', 'by mistake')).toContain(
    'ws-2 resumed: this ledger reads it again',
  );
  expect(await refused(world, 'workspace', 'resume', 'ws-2', ...WHY)).toContain('workspace "ws-2" was not ended');
  world.clock.nowMs += 3_600_000;
  expect(parseJson(await run(world, 'sync', '--json')).workspaces).toMatchObject([
    { status: 'applied' },
    { status: 'applied' },
  ]);
  expect(await run(world, 'verify')).toMatch(/^verified \d+/m);
});

test('an end needs a note and a workspace that is known', async () => {
  const world = await createWorld(FIRST);
  await run(world, 'sync');
  expect(await world.run('workspace', 'end', 'ws-1')).toMatchObject({
    code: 2,
    err: expect.stringContaining('end needs --note'),
  });
  expect(await world.run('workspace', 'end', 'ws-9', ...WHY)).toMatchObject({
    code: 2,
    err: expect.stringContaining('the ledger has no data for workspace "ws-9"'),
  });
  expect(parseJson(await run(world, 'workspace', 'end', 'ws-1', ...WHY, '--json'))).toMatchObject({
    ...{ workspace_id: 'ws-1', action: 'end', notifications: 0 },
  });
});

test('a backup restored as new is a ledger of its own, which says what it was made of', async () => {
  const world = await createWorld(FIRST);
  await run(world, 'sync');
  await run(world, 'backup', 'split.db');
  const { ledger } = parseJson(await run(world, 'status', '--json')) as { ledger: { ledger_id: string } };
  const head = /head digest (\w+)/.exec(await run(world, 'verify'))?.[1];
  const workspaces = [workspaceSettings(world.sandbox, FIRST)];
  world.configure({ ledger: { path: join(world.folder, 'second', 'ledger.db') }, workspaces });

  const restored = parseJson(await run(world, 'restore', 'split.db', '--as-new', '--json'));
  expect(restored).toMatchObject({ head_digest: head, new_ledger_id: expect.not.stringMatching(ledger.ledger_id) });
  expect(parseJson(await run(world, 'status', '--json'))).toMatchObject({
    ledger: { ledger_id: restored.new_ledger_id },
  });
  expect(await run(world, 'verify', '--expect-head', `${head}`)).toMatch(/^verified \d+/m);
  const connection = new Database(join(world.folder, 'second', 'ledger.db'), { readonly: true });
  onTestFinished(() => void connection.close());
  const made = connection.prepare("SELECT value FROM ledger_meta WHERE name = 'made_of'").pluck().get();
  expect(JSON.parse(String(made))).toMatchObject({ ledger_id: ledger.ledger_id, position: 1, head_digest: head });
  expect(await refused(world, 'restore', 'split.db', '--as-new')).toContain('belongs to another ledger');
});
