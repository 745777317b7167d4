import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/core/errors.ts';
import { followSafeLink, requireSafePlace } from '../../../src/core/process/safe-place.ts';
import { prepareServerFolder } from '../../../src/queue/redis/server-folder.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Returns the error and remedy for a path, or null if it passes. */
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

test('a path of this user passes, also if its own group can write it, and so does a missing path', () => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o770);
  expect([fault(folder), fault(join(folder, 'none'))]).toEqual([null, null]);
});

test.runIf(process.geteuid?.() === 0)('a path that other group members can write is refused with their names', () => {
  const folder = temporaryFolder();
  // On Debian, gid 1 is the group of the user `daemon`.
  chownSync(folder, 0, 1);
  chmodSync(folder, 0o775);
  const why = 'is writable by other users in its group: daemon';
  expect(fault(folder)).toBe(`the place ${folder} ${why}; chmod g-w ${folder}`);
  chmodSync(folder, 0o755);
  expect(fault(folder)).toBeNull();
});

test.runIf(process.geteuid?.() === 0)("root gets no advice to take over the folder of the daemon's user", () => {
  const folder = temporaryFolder();
  chownSync(folder, 1, 1);
  expect(fault(folder)).toBe(
    `the place ${folder} belongs to another user (uid 1; this is uid 0); run usage-ledger as that user`,
  );
});

test('a link is followed unless another user could have made it', () => {
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
  expect(() => followSafeLink(link, 'the file')).toThrow('is writable by every user');
});

test('a world-writable file is refused with the command that fixes it', () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  chmodSync(file, 0o602);
  expect(fault(file)).toBe(`the place ${file} is writable by every user of this machine; chmod o-w ${file}`);
});

test('a link is refused and the error names its target; a path below a link passes', () => {
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
  expect(fault(file)).toContain('belongs to another user (uid 12345; this is uid 0)');
});

test.each(['redis.log', 'appendonlydir', 'redis.sock'])(
  'a private Redis does not start if its %s is a link',
  (name) => {
    const folder = temporaryFolder();
    const victim = join(folder, 'victim');
    mkdirSync(join(folder, 'redis'), { mode: 0o700 });
    writeFileSync(victim, '');
    symlinkSync(victim, join(folder, 'redis', name));
    expect(() => prepareServerFolder(join(folder, 'redis'))).toThrow('is a link');
  },
);

test('a private Redis does not start in a world-writable folder or a link', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'redis'));
  chmodSync(join(folder, 'redis'), 0o777);
  expect(() => prepareServerFolder(join(folder, 'redis'))).toThrow('is writable by every user');
  symlinkSync(folder, join(folder, 'link'));
  expect(() => prepareServerFolder(join(folder, 'link'))).toThrow('is a link');
});

test('a socket with a long path moves to XDG_RUNTIME_DIR, never to a shared folder', () => {
  const deep = join(temporaryFolder(), 'a-long-name'.repeat(9));
  expect(() => prepareServerFolder(deep, undefined)).toThrow('is too long for a socket');
  expect(() => prepareServerFolder(deep, '/tmp')).toThrow('is writable by every user');
  const runtime = temporaryFolder();
  expect(prepareServerFolder(deep, runtime).socketPath.startsWith(runtime)).toBe(true);
});
