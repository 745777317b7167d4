import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderFault } from '../../../src/core/process/folder-fault.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Nobody's number. */
const STRANGER = 61_001;
const MODULE = new URL('../../../src/core/process/folder-fault.ts', import.meta.url).href;

/** What is said to another user, as whom a process goes on once it has loaded what it needs. */
function saidToStranger(folders: string[]): unknown {
  const script = `const { folderFault } = await import(${JSON.stringify(MODULE)});
    process.setuid(${STRANGER});
    console.log(JSON.stringify(process.argv.slice(1).map((folder) => folderFault(folder))));`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script, ...folders];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

it('says why no file can be written into a folder, there or still to be made', () => {
  if (process.geteuid?.() !== 0) throw new Error('this test becomes another user: run it as root');
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const folders = [folder, join(folder, 'new', 'deeper'), file, join(file, 'deeper')];
  expect(folders.map(folderFault)).toEqual([null, null, `${file} is no folder`, `${file} is no folder`]);
  const cannot = `the folder ${folder} cannot be written to (EACCES)`;
  expect(saidToStranger(folders)).toEqual([cannot, cannot, `${file} is no folder`, `${file} is no folder`]);
  chmodSync(folder, 0o700);
  expect(saidToStranger([join(folder, 'x')])).toEqual([
    `the folder ${join(folder, 'x')} cannot be written to (EACCES)`,
  ]);
});
