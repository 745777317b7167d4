import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/core/errors.ts';
import { followSafeLink, requireSafePlace } from '../../../src/core/process/safe-place.ts';
import { prepareServerFolder } from '../../../src/queue/redis/server-folder.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** What the check says of a place, with its remedy; null when it is fine. */
function fault(path: string): string | null {
  try {
    requireSafePlace(path, 'the place');
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.code).toBe('unsafe_place');
    return `${error.message}; ${error.hint}`;
  }
}

test('a file or folder of this user, also one that its group may write, and one that is not there, are fine', () => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o770);
  expect([fault(folder), fault(join(folder, 'none'))]).toEqual([null, null]);
});

test.runIf(process.geteuid?.() === 0)('what others of its group may write is refused with their names', () => {
  const folder = temporaryFolder();
  // Of every Debian: the group of the user `daemon`.
  chownSync(folder, 0, 1);
  chmodSync(folder, 0o775);
  const why = 'may be written by other users, who are in its group: daemon';
  expect(fault(folder)).toBe(`the place ${folder} ${why}; chmod g-w ${folder}`);
  chmodSync(folder, 0o755);
  expect(fault(folder)).toBeNull();
});

test.runIf(process.geteuid?.() === 0)('root is not told to take a folder away from the user of the daemon', () => {
  const folder = temporaryFolder();
  chownSync(folder, 1, 1);
  expect(fault(folder)).toBe(
    `the place ${folder} belongs to another user (uid 1, and this is uid 0); run usage-ledger as that user`,
  );
});

test('a link in the place of the file is followed, unless somebody else could have laid it', () => {
  const folder = temporaryFolder();
  const [file, link, nothing] = ['file', 'link', 'nothing'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(file, '');
  symlinkSync(file, link);
  symlinkSync(join(folder, 'none'), nothing);
  expect([file, link, nothing].map((path) => followSafeLink(path, 'the file'))).toEqual([file, file, nothing]);
  chmodSync(folder, 0o777);
  expect(() => followSafeLink(link, 'the file')).toThrow('may be written by every user');
});

test('what everybody may write is refused with the command that mends it', () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  chmodSync(file, 0o602);
  expect(fault(file)).toBe(`the place ${file} may be written by every user of this machine; chmod o-w ${file}`);
});

test('a link is refused, wherever it leads to, and the place itself is named; what lies below a link is fine', () => {
  const folder = temporaryFolder();
  const link = join(folder, 'link');
  mkdirSync(join(folder, 'data', 'ledger'), { recursive: true });
  symlinkSync(join(folder, 'data'), link);
  expect(fault(link)).toMatch(new RegExp(`is a link.*configuration instead: ${join(folder, 'data')}$`));
  expect(fault(join(link, 'ledger'))).toBeNull();
});

test.runIf(process.geteuid?.() === 0)("another user's file is refused", () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  chownSync(file, 12_345, 12_345);
  expect(fault(file)).toContain('belongs to another user (uid 12345, and this is uid 0)');
});

test.each(['redis.log', 'appendonlydir', 'redis.sock'])(
  'a private Redis is not started over a link that stands for its %s',
  (name) => {
    const folder = temporaryFolder();
    const victim = join(folder, 'victim');
    mkdirSync(join(folder, 'redis'), { mode: 0o700 });
    writeFileSync(victim, '');
    symlinkSync(victim, join(folder, 'redis', name));
    expect(() => prepareServerFolder(join(folder, 'redis'))).toThrow('is a link');
  },
);

test('nor in a folder that everybody may write, nor in a link', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'redis'));
  chmodSync(join(folder, 'redis'), 0o777);
  expect(() => prepareServerFolder(join(folder, 'redis'))).toThrow('may be written by every user');
  symlinkSync(folder, join(folder, 'link'));
  expect(() => prepareServerFolder(join(folder, 'link'))).toThrow('is a link');
});

test('a socket whose path would be too long lies in XDG_RUNTIME_DIR, never in a folder that is shared', () => {
  const deep = join(temporaryFolder(), 'a-long-name'.repeat(9));
  expect(() => prepareServerFolder(deep, undefined)).toThrow('is too long for a socket');
  expect(() => prepareServerFolder(deep, '/tmp')).toThrow('may be written by every user');
  const runtime = temporaryFolder();
  expect(prepareServerFolder(deep, runtime).socketPath.startsWith(runtime)).toBe(true);
});
