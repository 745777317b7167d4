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

test.each(['HOME', 'XDG_CACHE_HOME'])('what was compiled lies in a folder of this user alone, by %s', (name) => {
  const home = temporaryFolder();
  expect(start({ [name]: home })).toMatch(/^\d/);
  const folder = join(name === 'HOME' ? join(home, '.cache') : home, 'usage-ledger');
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(filesIn(folder)).toBeGreaterThan(10);
});

test('nothing is kept where somebody else could change what is run', () => {
  const [open, leading] = [temporaryFolder(), temporaryFolder()];
  mkdirSync(join(open, '.cache'));
  chmodSync(join(open, '.cache'), 0o777);
  symlinkSync(join(open, '.cache'), join(leading, '.cache'));
  for (const home of [open, leading]) {
    expect(start({ HOME: home })).toMatch(/^\d/);
    expect(filesIn(join(home, '.cache', 'usage-ledger'))).toBe(0);
  }
});

test('a home that is not there is not made, and a relative one is none', () => {
  const folder = temporaryFolder();
  for (const HOME of [join(folder, 'away'), 'relative', '/proc/self', '']) expect(start({ HOME })).toMatch(/^\d/);
  expect(readdirSync(folder)).toEqual([]);
});
