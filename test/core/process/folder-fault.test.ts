import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderFault } from '../../../src/core/process/folder-fault.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A uid without a user. */
const STRANGER = 61_001;
const MODULE = new URL('../../../src/core/process/folder-fault.ts', import.meta.url).href;

/** Returns the faults that a process of another user sees. It changes user after loading its modules. */
function folderFaultsForStranger(folders: string[]): unknown {
  const script = `const { folderFault } = await import(${JSON.stringify(MODULE)});
    process.setuid(${STRANGER});
    console.log(JSON.stringify(process.argv.slice(1).map((folder) => folderFault(folder))));`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script, ...folders];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

it('explains why no file can be written into an existing or a missing folder', () => {
  if (process.geteuid?.() !== 0) throw new Error('this test becomes another user: run it as root');
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const folders = [folder, join(folder, 'new', 'deeper'), file, join(file, 'deeper')];
  expect(folders.map(folderFault)).toEqual([null, null, `${file} is not a folder`, `${file} is not a folder`]);
  const cannot = `the folder ${folder} cannot be written to (EACCES)`;
  expect(folderFaultsForStranger(folders)).toEqual([
    cannot,
    cannot,
    `${file} is not a folder`,
    `${file} is not a folder`,
  ]);
  chmodSync(folder, 0o700);
  expect(folderFaultsForStranger([join(folder, 'x')])).toEqual([
    `the folder ${join(folder, 'x')} cannot be written to (EACCES)`,
  ]);
});
