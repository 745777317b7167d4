import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFolders } from '../../../src/daemon/folders/open-folders.ts';
import { rejection } from '../../support/rejection.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const REMEDY = 'correct the folder';

function open(deadlineMs = 20_000) {
  const folders = openFolders({ crashed: 'it_crashed', deadlineMs });
  onTestFinished(() => folders.close());
  return folders;
}

test('commands work in a folder, and one after close starts another process', async () => {
  const folders = open();
  const folder = join(temporaryFolder(), 'a', 'b');
  expect(await folders.listNames(folder)).toEqual([]);
  await folders.makeFolder(folder, REMEDY);
  writeFileSync(join(folder, 'one'), '');
  writeFileSync(join(folder, 'two'), '');
  folders.close();
  await folders.removeFiles(folder, ['one']);
  expect(await folders.listNames(folder)).toEqual(['two']);
});

const file = (): string => {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, '');
  return path;
};

test.each<[string, () => string, RegExp]>([
  [
    'below /proc, where mkdir fails with ENOENT',
    () => '/proc/usage-ledger',
    /cannot be (created|written to) \((ENOENT|EACCES)\)/,
  ],
  [
    'below /sys, which refuses folders',
    () => '/sys/usage-ledger',
    /cannot be (created|written to) \((EPERM|EACCES|EROFS)\)/,
  ],
  ['that is a file', file, /is not a folder/],
  ['below a file', () => join(file(), 'below'), /cannot be written to \(ENOTDIR\)|is not a folder/],
  ['with a name that is too long', () => join(temporaryFolder(), 'x'.repeat(300)), /\(ENAMETOOLONG\)/],
])('a folder %s is refused with the path and the reason', async (_, folderOf, reason) => {
  const folder = folderOf();
  const error = await rejection(open().makeFolder(folder, REMEDY));
  expect(error).toMatchObject({ message: expect.stringMatching(reason), hint: REMEDY });
  expect(String(error)).toContain(folder.startsWith('/proc') || folder.startsWith('/sys') ? '/' : folder.slice(0, 20));
});

test('a folder that does not answer is given up at the deadline, and the next command starts another process', async () => {
  const folder = temporaryFolder();
  // Whoever opens a pipe without a writer waits, like a read from a mount that hangs.
  expect(spawnSync('mkfifo', [join(folder, '.usage.export')]).status).toBe(0);
  const folders = open(1_500);
  expect(await rejection(folders.readExportState(folder, 'usage'))).toMatchObject({
    code: 'folder_timed_out',
    message: `the folder ${folder} did not answer within 1 s`,
    retryable: true,
  });
  expect(await open().listNames(folder)).toEqual(['.usage.export']);
});

test('a process that cannot be started fails with the code of its caller', async () => {
  const { execPath } = process;
  const broken = join(temporaryFolder(), 'node');
  mkdirSync(broken);
  chmodSync(broken, 0o700);
  process.execPath = broken;
  onTestFinished(() => {
    process.execPath = execPath;
  });
  expect(await rejection(open().listNames('/tmp'))).toMatchObject({ code: 'it_crashed', retryable: true });
});
