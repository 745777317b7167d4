import type { StdioOptions } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../errors.ts';
import { firstOf } from '../text/words.ts';

const WORLD_WRITABLE = 0o002;
const GROUP_WRITABLE = 0o020;

/**
 * Refuses a file or folder into which somebody else could put something, with `unsafe_place`: one that is a link, belongs
 * to another user than this one or root, or may be written by everybody, or by a group with other users in it. What does not
 * exist yet is no fault.
 */
export function requireSafePlace(path: string, what: string): void {
  const own = process.geteuid?.();
  const found = lstatSync(path, { throwIfNoEntry: false });
  // Without users, as on Windows, there is nothing to compare.
  if (own === undefined || found === undefined) return;
  if (found.isSymbolicLink()) {
    throw unsafe(
      path,
      what,
      'is a link, and whoever can change the link decides what is written',
      `write the place that it leads to into the configuration instead: ${targetOf(path)}`,
    );
  }
  if (found.uid !== own && found.uid !== 0) {
    throw unsafe(
      path,
      what,
      `belongs to another user (uid ${found.uid}, and this is uid ${own})`,
      // What root took away from the daemon's user, that user could not write any more.
      own === 0 ? 'run usage-ledger as that user' : `run usage-ledger as that user, or: chown ${own} ${path}`,
    );
  }
  if ((found.mode & WORLD_WRITABLE) !== 0) {
    throw unsafe(path, what, 'may be written by every user of this machine', `chmod o-w ${path}`);
  }
  const others = (found.mode & GROUP_WRITABLE) === 0 ? [] : othersInGroup(found.gid, own);
  if (others.length > 0) {
    const who = firstOf(others, 3);
    throw unsafe(path, what, `may be written by other users, who are in its group: ${who}`, `chmod g-w ${path}`);
  }
}

/**
 * The file that a path leads to. Of a link it is the target, and the link must be laid by this user or root, in a folder
 * that is safe; a link to nothing is left as it is.
 */
export function followSafeLink(path: string, what: string): string {
  const link = lstatSync(path, { throwIfNoEntry: false });
  if (link?.isSymbolicLink() !== true || !existsSync(path)) return path;
  const own = process.geteuid?.();
  if (own !== undefined && link.uid !== own && link.uid !== 0) {
    throw unsafe(path, what, `is a link of another user (uid ${link.uid})`, 'write the place that it leads to instead');
  }
  requireSafePlace(dirname(path), `the folder of ${what}`);
  return realpathSync(path);
}

/** Links further up in a path do not matter: only who may change the last folder can put something else there. */
function targetOf(link: string): string {
  try {
    return realpathSync(link);
  } catch {
    return 'it leads nowhere';
  }
}

function unsafe(path: string, what: string, fault: string, hint: string): AppError {
  return new AppError('unsafe_place', `${what} ${path} ${fault}`, { hint });
}

/** The number of a group: by `/etc/group`, or by `getent`, which knows those of a directory service, too; undefined without one. */
export function groupId(name: string): number | undefined {
  return idOf(lines('/etc/group'), name) ?? idOf(askDirectory(name), name);
}

/** Users who are in a group beside `uid` and root, as `/etc/group` and `/etc/passwd` know them. */
function othersInGroup(gid: number, uid: number): string[] {
  const users = lines('/etc/passwd').map(([name = '', , id, primary]) => ({
    name,
    id: Number(id),
    primary: Number(primary),
  }));
  const listed =
    lines('/etc/group')
      .find(([, , id]) => Number(id) === gid)?.[3]
      ?.split(',') ?? [];
  const trusted = users.filter(({ id }) => id === uid || id === 0).map(({ name }) => name);
  const members = [...listed, ...users.filter(({ primary }) => primary === gid).map(({ name }) => name)];
  return [...new Set(members)].filter((name) => name !== '' && !trusted.includes(name));
}

function idOf(groups: readonly string[][], name: string): number | undefined {
  const id = groups.find(([known]) => known === name)?.[2];
  return id === undefined ? undefined : Number(id);
}

function askDirectory(group: string): string[][] {
  try {
    const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
    // Seldom needed, and not loaded at each start.
    const { execFileSync } = process.getBuiltinModule('node:child_process');
    return fieldsOf(execFileSync('getent', ['group', '--', group], { encoding: 'utf8', stdio }));
  } catch {
    // There is no such group, or no getent.
    return [];
  }
}

/** Nothing where the system has no such file. */
function lines(file: string): string[][] {
  try {
    return fieldsOf(readFileSync(file, 'utf8'));
  } catch {
    return [];
  }
}

function fieldsOf(text: string): string[][] {
  return text.split('\n').map((line) => line.split(':'));
}
