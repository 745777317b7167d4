import type { StdioOptions } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../errors.ts';
import { firstOf } from '../text/words.ts';

const WORLD_WRITABLE = 0o002;
const GROUP_WRITABLE = 0o020;

/**
 * Throws `unsafe_place` for a file or folder that another user could write to. This is the case for a link, for a path
 * that belongs to a user other than this one or root, and for a path that is writable for everybody or for a group with
 * other members. A path that does not exist is accepted. Links in the folders above the path are not checked.
 */
export function requireSafePlace(path: string, label: string): void {
  const currentUid = process.geteuid?.();
  const found = lstatSync(path, { throwIfNoEntry: false });
  // Windows has no uids to compare.
  if (currentUid === undefined || found === undefined) return;
  if (found.isSymbolicLink()) {
    throw unsafe(
      path,
      label,
      'is a link: anyone who can change the link controls where data is written',
      `use its target in the configuration instead: ${targetOf(path)}`,
    );
  }
  if (found.uid !== currentUid && found.uid !== 0) {
    throw unsafe(
      path,
      label,
      `belongs to another user (uid ${found.uid}; this is uid ${currentUid})`,
      // The remedy for root is not `chown`: if root became the owner, the daemon's user could no longer write to the
      // file.
      currentUid === 0
        ? 'run usage-ledger as that user'
        : `run usage-ledger as that user, or: chown ${currentUid} ${path}`,
    );
  }
  if ((found.mode & WORLD_WRITABLE) !== 0) {
    throw unsafe(path, label, 'is writable by every user of this machine', `chmod o-w ${path}`);
  }
  const others = (found.mode & GROUP_WRITABLE) === 0 ? [] : othersInGroup(found.gid, currentUid);
  if (others.length > 0) {
    const who = firstOf(others, 3);
    throw unsafe(path, label, `is writable by other users in its group: ${who}`, `chmod g-w ${path}`);
  }
}

/**
 * Returns the file that a path leads to. A link is followed only if this user or root created it, in a safe folder; for
 * any other link, throws `unsafe_place`. A link without a target is returned unchanged.
 */
export function followSafeLink(path: string, label: string): string {
  const link = lstatSync(path, { throwIfNoEntry: false });
  if (link?.isSymbolicLink() !== true || !existsSync(path)) return path;
  const currentUid = process.geteuid?.();
  if (currentUid !== undefined && link.uid !== currentUid && link.uid !== 0) {
    throw unsafe(path, label, `is a link owned by another user (uid ${link.uid})`, 'use its target instead');
  }
  requireSafePlace(dirname(path), `the folder of ${label}`);
  return realpathSync(path);
}

/** Returns the path with all links resolved, to be shown in the remedy. */
function targetOf(link: string): string {
  try {
    return realpathSync(link);
  } catch {
    return 'it has no target';
  }
}

function unsafe(path: string, label: string, fault: string, hint: string): AppError {
  return new AppError('unsafe_place', `${label} ${path} ${fault}`, { hint });
}

/**
 * Returns the id of a group, from `/etc/group` or from `getent`, which also finds groups in directory services. Returns
 * undefined if there is no such group.
 */
export function groupId(name: string): number | undefined {
  return groupIdIn(readFields('/etc/group'), name) ?? groupIdIn(askDirectory(name), name);
}

/** Returns the names of a group's members except the user `uid` and root, from `/etc/group` and `/etc/passwd`. */
function othersInGroup(gid: number, uid: number): string[] {
  const users = readFields('/etc/passwd').map(([name = '', , id, primary]) => ({
    name,
    id: Number(id),
    primary: Number(primary),
  }));
  const listed =
    readFields('/etc/group')
      .find(([, , id]) => Number(id) === gid)?.[3]
      ?.split(',') ?? [];
  const trusted = users.filter(({ id }) => id === uid || id === 0).map(({ name }) => name);
  const members = [...listed, ...users.filter(({ primary }) => primary === gid).map(({ name }) => name)];
  return [...new Set(members)].filter((name) => name !== '' && !trusted.includes(name));
}

function groupIdIn(groups: readonly string[][], name: string): number | undefined {
  const id = groups.find(([known]) => known === name)?.[2];
  return id === undefined ? undefined : Number(id);
}

function askDirectory(group: string): string[][] {
  try {
    const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
    // Loaded on demand because it is rarely needed.
    const { execFileSync } = process.getBuiltinModule('node:child_process');
    return splitFields(execFileSync('getent', ['group', '--', group], { encoding: 'utf8', stdio }));
  } catch {
    // The group does not exist, or the system has no `getent`.
    return [];
  }
}

/** Returns the fields of each line of a file such as `/etc/passwd`, or an empty list if the system has no such file. */
function readFields(file: string): string[][] {
  try {
    return splitFields(readFileSync(file, 'utf8'));
  } catch {
    return [];
  }
}

function splitFields(text: string): string[][] {
  return text.split('\n').map((line) => line.split(':'));
}
