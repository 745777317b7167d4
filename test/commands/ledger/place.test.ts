import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { CLI } from '../../support/daemon-process.ts';
import { LEDGER_MISTAKES } from '../../support/ledger-mistakes.ts';
import { createWorld, FIRST, workspaceSettings } from '../world.ts';

/** Root may write everywhere: as root these tests run the command as this user. */
const NOBODY = 65_534;

test.each(LEDGER_MISTAKES)('where $name, doctor says what daemon and sync refuse with exit code 2', async (mistake) => {
  const world = await createWorld(FIRST);
  mistake.make(world.ledgerPath);
  for (const command of ['daemon', 'sync']) {
    const { code, err } = await world.run(command);
    expect({ command, code, err }).toEqual({ command, code: 2, err: expect.stringMatching(mistake.told) });
  }
  const { code, out } = await world.run('doctor');
  expect(code).toBe(4);
  expect(out).toMatch(new RegExp(`^FAIL  ledger: .*${mistake.told.source}`, 'm'));
});

test.each(['folder', 'file'])(
  'where this user may not write the %s, doctor says what the daemon refuses with exit code 2',
  async (locked) => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const folder = dirname(world.ledgerPath);
    chmodSync(locked === 'folder' ? folder : world.ledgerPath, locked === 'folder' ? 0o500 : 0o400);

    expect(await asUser(world.folder, 'daemon')).toEqual({
      code: 2,
      said: expect.stringContaining('cannot be written'),
    });
    expect(await asUser(world.folder, 'doctor')).toEqual({
      code: 4,
      said: expect.stringMatching(/FAIL {2}ledger: \S+ cannot be written: EACCES/),
    });
  },
);

test('a reader group that this machine does not have is told before there is a ledger', async () => {
  const world = await createWorld(FIRST);
  const workspaces = [workspaceSettings(world.sandbox, FIRST)];
  world.configure({ workspaces, http: { port: 0 }, ledger: { reader_group: 'no-such-group' } });
  const told = /this machine has no group "no-such-group"/;
  expect(await world.run('daemon')).toMatchObject({ code: 2, err: expect.stringMatching(told) });
  const { code, out } = await world.run('doctor');
  expect({ code, out }).toEqual({ code: 4, out: expect.stringMatching(told) });
});

/** Runs a command in a folder as somebody who is not root; meanwhile the sandbox, which is in this process, answers. */
async function asUser(folder: string, command: string): Promise<{ code: number | null; said: string }> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) spawnSync('chown', ['-R', `${NOBODY}:${NOBODY}`, folder]);
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const child = spawn(process.execPath, [CLI, command], { cwd: folder, ...user });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, said: stdout + stderr };
}
