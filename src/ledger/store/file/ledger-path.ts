import { accessSync, chmodSync, chownSync, constants, existsSync, lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../../core/errors.ts';
import { groupId, requireSafePlace } from '../../../core/process/safe-place.ts';
import { SIDECAR_SUFFIXES } from './ledger-file.ts';
import { LedgerError } from './sqlite-errors.ts';

/**
 * Throws when no ledger can be written at `path`, or when other users could put files of their own there. Creates
 * nothing, so that a check of the configuration applies the same rules as opening the ledger. Throws LedgerError
 * `ledger_link_broken`, `ledger_is_folder`, `ledger_unwritable`, `reader_group`; AppError `unsafe_place`.
 */
export function requireLedgerPath(path: string, readerGroup?: string): void {
  refuseDanglingLink(path);
  const folder = dirname(path);
  requireSafePlace(folder, "the ledger's folder");
  requireSafePlace(path, 'the ledger');
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new LedgerError('ledger_is_folder', `${path} is a folder: the ledger must be a file`, {
      hint: 'set ledger.path to a file in a folder of its own',
    });
  }
  // SQLite writes its log next to the file, so the folder must be writable too.
  for (const place of existsSync(path) ? [path, folder] : [nearestFolder(path)]) requireWritable(place);
  if (readerGroup !== undefined) requireGroup(path, readerGroup);
}

/**
 * Throws when the path is a symbolic link to a missing file, such as one on a disk that is not mounted. A ledger
 * created through that link would hide the real one.
 */
export function refuseDanglingLink(path: string): void {
  if (existsSync(path) || lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new LedgerError('ledger_link_broken', `${path} is a link to ${readlinkSync(path)}, which does not exist`, {
    hint: 'mount the disk that it leads to, or correct the link or ledger.path',
  });
}

/** Returns the folder of a file. If that folder is missing, returns the nearest folder above it that exists. */
export function nearestFolder(path: string): string {
  let folder = dirname(path);
  while (!existsSync(folder)) folder = dirname(folder);
  return folder;
}

function requireWritable(place: string): void {
  try {
    accessSync(place, constants.W_OK);
  } catch (cause) {
    throw new LedgerError('ledger_unwritable', `${place} cannot be written: ${messageOf(cause)}`, {
      hint: 'give the user that runs usage-ledger write permission there, or change ledger.path',
      cause,
    });
  }
}

/**
 * The mode bits of a folder that a group can read: set-group-id, and read and traverse for the group. Files that SQLite
 * creates in the folder belong to the group, and members of the group cannot create files.
 */
const SHARED_FOLDER = 0o2050;
const SHARED_FILE = 0o640;
const WRITABLE_BY_OTHERS = 0o022;
const NULL_IF_MISSING = { throwIfNoEntry: false } as const;

/** Why members of a group cannot read the ledger, and what to do about it. */
interface GroupAccessFault {
  message: string;
  hint: string;
}

/**
 * Gives the ledger's folder and files to a group whose members may read them; files that SQLite creates later inherit
 * the group. Throws LedgerError `reader_group` when the group does not exist, or this user may not give files to it.
 */
export function shareWithGroup(path: string, group: string): void {
  const gid = gidOf(group);
  const folder = dirname(path);
  const { mode } = statSync(folder);
  share(folder, gid, ((mode & 0o7777) | SHARED_FOLDER) & ~WRITABLE_BY_OTHERS, group);
  for (const file of filesOf(path)) share(file, gid, SHARED_FILE, group);
}

/** Throws the errors that `shareWithGroup` would throw, and changes nothing. */
function requireGroup(path: string, group: string): void {
  const gid = gidOf(group);
  const foreign = [dirname(path), ...filesOf(path)].find((place) => statSync(place, NULL_IF_MISSING)?.gid !== gid);
  const own = process.getgroups?.() ?? [];
  if (foreign === undefined || process.geteuid?.() === 0 || own.includes(gid)) return;
  throw cannotShare(foreign, group, 'this user is not a member');
}

/** Returns why members of the group cannot read the ledger at present; null when they can. */
export function findGroupAccessFault(path: string, group: string): GroupAccessFault | null {
  const gid = gidOf(group);
  const unreadable = [dirname(path), ...filesOf(path)].find((place) => !hasGroupPermission(place, gid, 4));
  if (unreadable !== undefined) {
    return {
      message: `the group ${group} cannot read ${unreadable}`,
      hint: 'restart the daemon, or run `usage-ledger migrate`, to give the group access',
    };
  }
  const barred = foldersAbove(path).find((folder) => !hasGroupPermission(folder, gid, 1));
  if (barred === undefined) return null;
  return {
    message: `the group ${group} cannot reach the ledger: it lacks execute permission on ${barred}`,
    hint: `chmod o+x ${barred}, or set ledger.path to a place that the group can reach`,
  };
}

function filesOf(path: string): string[] {
  return ['', ...SIDECAR_SUFFIXES].map((suffix) => `${path}${suffix}`).filter((file) => existsSync(file));
}

/** Lists the ledger's own folder and its ancestors, up to the root. */
function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}

/**
 * Reports whether members of the group have a permission (4 read, 1 traverse), through the group's bits or those of all
 * other users.
 */
function hasGroupPermission(place: string, gid: number, right: number): boolean {
  const found = statSync(place);
  return (found.mode & (found.gid === gid ? right << 3 : right)) !== 0;
}

function share(place: string, gid: number, mode: number, group: string): void {
  const found = statSync(place);
  try {
    if (found.gid !== gid) chownSync(place, found.uid, gid);
    // The mode is set after chown, because chown clears set-group-id.
    if (found.gid !== gid || (found.mode & 0o7777) !== mode) chmodSync(place, mode);
  } catch (cause) {
    throw cannotShare(place, group, messageOf(cause), cause);
  }
}

function cannotShare(place: string, group: string, reason: string, cause?: unknown): LedgerError {
  return new LedgerError('reader_group', `cannot give ${place} to the group ${group}: ${reason}`, {
    hint: `add the user that runs usage-ledger to the group (usermod -aG ${group} USER) and log in again, or let that user change ${place}`,
    cause,
  });
}

function gidOf(group: string): number {
  const found = /^\d+$/.test(group) ? Number(group) : groupId(group);
  if (found !== undefined) return found;
  throw new LedgerError('reader_group', `ledger.reader_group: this machine has no group ${JSON.stringify(group)}`, {
    hint: `create it (groupadd ${group}), or correct or remove ledger.reader_group`,
  });
}
