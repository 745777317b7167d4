import { existsSync, lstatSync, renameSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { fileTime, nextTurn } from '../../../core/clock.ts';
import { canHaveHappened } from '../../../core/stored-time.ts';
import type { VerifyReport } from '../../audit/verify/verify.ts';
import { type SuspectFile, toDamagedFileError, verifyOrThrow } from '../../audit/verify/verify-or-throw.ts';
import {
  copyLedger,
  createHardLink,
  flushToDisk,
  isLedgerFile,
  SIDECAR_SUFFIXES,
  toBackupError,
} from '../../store/file/ledger-file.ts';
import { openReader } from '../../store/file/open.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';
import { withWorkFolder } from '../../store/file/work-folder.ts';

export const BACKUP_FOLDER_REMEDY = 'correct `backup.folder`, or the rights of the folder';

export interface LedgerBackupRequest {
  ledgerPath: string;
  /** The file to write; its folder must exist. */
  target: string;
  force?: boolean;
  signal: AbortSignal;
}

export interface BackupReport {
  path: string;
  sizeBytes: number;
  runs: number;
  entries: number;
  keys: number;
  headDigest: string;
}

/**
 * Copies the ledger to a new file, verifies the copy, and only then gives the file its final name. The copy is a single
 * file (mode 0600, rollback journal) that can be opened on read-only media. Throws LedgerError `backup_exists`,
 * `backup_folder_missing`, `bad_backup_target`, `backup_faulty`, `backup_failed` and the errors of `openReader`; the
 * reason of `signal` when it aborts. After an error, no file is left behind.
 */
export async function backupLedger({ ledgerPath, target, force, signal }: LedgerBackupRequest): Promise<BackupReport> {
  const path = resolve(target);
  const replace = force === true;
  requireBackupTarget(path, ledgerPath, replace);
  const reader = openReader(ledgerPath);
  try {
    return await withWorkFolder(backupFolderPrefix(path), async (folder) => {
      const copy = join(folder, 'ledger.db');
      await copyLedger(reader.connection, copy, signal);
      const { runs, entries, keys, headDigest } = verifyBackup(copy, ledgerPath);
      // The verification blocks the event loop, so a stop signal received meanwhile arrives in the next turn.
      await nextTurn();
      signal.throwIfAborted();
      const sizeBytes = statSync(copy).size;
      moveInto(copy, path, replace);
      return { path, sizeBytes, runs, entries, keys, headDigest };
    });
  } catch (error) {
    throw toBackupError(toDamagedFileError(error, suspectOf(ledgerPath)), `cannot write ${path}`);
  } finally {
    reader.close();
  }
}

/**
 * Returns the prefix of the name of the folder in which a backup to `path` is assembled; six random characters follow
 * the prefix.
 */
export function backupFolderPrefix(path: string): string {
  return `${path}.part-`;
}

/**
 * Matches the start of the name of a folder in which a scheduled backup is assembled: all but the random characters.
 */
const UNFINISHED_NAME = /^ledger-\d{8}T\d{6}Z\.db\.part-/;

/**
 * Returns the prefix of a folder name if the folder is one in which a scheduled backup is assembled; null for any other
 * name.
 */
export function unfinishedBackupPrefix(name: string): string | null {
  return UNFINISHED_NAME.exec(name)?.[0] ?? null;
}

function suspectOf(ledgerPath: string): SuspectFile {
  return {
    what: `the copy of ${ledgerPath}`,
    hint: 'run `usage-ledger verify` to check the ledger itself, and keep the existing backups',
  };
}

function verifyBackup(copy: string, ledgerPath: string): VerifyReport {
  const connection = new Database(copy, { readonly: true });
  try {
    return verifyOrThrow(connection, suspectOf(ledgerPath));
  } finally {
    connection.close();
  }
}

/** Throws unless a backup may be written to this path, see `backupLedger`. */
export function requireBackupTarget(path: string, ledgerPath: string, replace: boolean): void {
  const folder = dirname(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new LedgerError('backup_folder_missing', `folder ${folder} does not exist`, {
      hint: 'create it, or name a file in another folder',
    });
  }
  if (isLedgerFile(path, ledgerPath)) {
    throw new LedgerError('bad_backup_target', `${path} is the ledger itself or belongs to it`, {
      hint: 'name another file, best on another disk',
    });
  }
  const sidecar = SIDECAR_SUFFIXES.map((suffix) => `${path}${suffix}`).find((file) => existsSync(file));
  if (sidecar !== undefined) {
    throw new LedgerError('bad_backup_target', `${sidecar} exists, and SQLite would treat it as part of the backup`, {
      hint: 'name another backup file, or remove the existing file if no program uses it',
    });
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isFile()) {
    throw new LedgerError('bad_backup_target', `${path} exists and is not a file`, { hint: 'name another file' });
  }
  if (!replace) throw alreadyThere(path);
}

function alreadyThere(path: string): LedgerError {
  return new LedgerError('backup_exists', `${path} exists`, {
    hint: 'name another file, or add --force to replace it',
  });
}

/** Moves the copy to its path. Throws if a file was created there meanwhile, unless `replace` is set. */
function moveInto(copy: string, path: string, replace: boolean): void {
  if (replace) {
    renameSync(copy, path);
  } else if (!createHardLink(copy, path, () => alreadyThere(path))) {
    if (existsSync(path)) throw alreadyThere(path);
    renameSync(copy, path);
  }
  flushToDisk(dirname(path));
}

const BACKUP_NAME = /^ledger-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/;

/** Returns the name of a scheduled backup made now, such as `ledger-20260301T020000Z.db`. */
export function backupName(nowMs: number): string {
  return `ledger-${fileTime(nowMs)}.db`;
}

/**
 * Returns the time in the name of a scheduled backup, ISO-8601 UTC; null for a name that is not of a scheduled backup.
 */
export function backupTimeOf(name: string): string | null {
  const parts = BACKUP_NAME.exec(name);
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second] = parts;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
}

/**
 * Returns the name of the newest scheduled backup, ignoring names with a time in the future; null when there is none.
 */
export function selectNewestBackup(names: readonly string[], nowMs: number): string | null {
  return (
    names
      .filter((name) => isKnown(name, nowMs))
      .sort()
      .at(-1) ?? null
  );
}

/**
 * Returns the names of the scheduled backups to delete so that `keep` backups remain, one of which is `newName`. The
 * oldest names come first; names with a time in the future count as the oldest. Ignores other names.
 */
export function selectExpiredBackups(names: readonly string[], newName: string, keep: number, nowMs: number): string[] {
  const others = names.filter((name) => backupTimeOf(name) !== null && name !== newName).sort();
  const ahead = others.filter((name) => !isKnown(name, nowMs));
  const byAge = [...ahead, ...others.filter((name) => isKnown(name, nowMs))];
  return byAge.slice(0, Math.max(0, byAge.length - (keep - 1)));
}

function isKnown(name: string, nowMs: number): boolean {
  const time = backupTimeOf(name);
  return time !== null && canHaveHappened(Date.parse(time), nowMs);
}
