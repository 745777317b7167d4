import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLI } from '../../support/daemon-process.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

function start(env: NodeJS.ProcessEnv): string {
  const { stdout } = spawnSync(process.execPath, [CLI, '--version'], { env, encoding: 'utf8' });
  return stdout.trim();
}

const filesIn = (folder: string): number =>
  existsSync(folder) ? readdirSync(folder, { recursive: true }).filter((name) => `${name}`.includes('/')).length : 0;

test.each(['HOME', 'XDG_CACHE_HOME'])(
  'the compile cache is a folder that only this user can change, below %s',
  (name) => {
    const home = temporaryFolder();
    expect(start({ [name]: home })).toMatch(/^\d/);
    const folder = join(name === 'HOME' ? join(home, '.cache') : home, 'usage-ledger');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(filesIn(folder)).toBeGreaterThan(10);
  },
);

test('no compile cache is used where another user could change the code', () => {
  const [open, leading] = [temporaryFolder(), temporaryFolder()];
  mkdirSync(join(open, '.cache'));
  chmodSync(join(open, '.cache'), 0o777);
  symlinkSync(join(open, '.cache'), join(leading, '.cache'));
  for (const home of [open, leading]) {
    expect(start({ HOME: home })).toMatch(/^\d/);
    expect(filesIn(join(home, '.cache', 'usage-ledger'))).toBe(0);
  }
});

test('a missing home directory is not created, and a relative one is ignored', () => {
  const folder = temporaryFolder();
  for (const HOME of [join(folder, 'away'), 'relative', '/proc/self', '']) expect(start({ HOME })).toMatch(/^\d/);
  expect(readdirSync(folder)).toEqual([]);
});
