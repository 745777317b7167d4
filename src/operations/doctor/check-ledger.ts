import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../config/types.ts';
import { AppError, summarizeError } from '../../core/errors.ts';
import { freeBytesAt, MIN_FREE_BYTES } from '../../core/process/disk.ts';
import {
  checkpointKeyPath,
  describeHeadMismatch,
  describeMissingCheckpoints,
  findSigningKeyFault,
  MISSING_CHECKPOINTS_REMEDY,
} from '../../ledger/audit/anchor/checkpoint-log.ts';
import { describeSkipped, listSkippedMonths } from '../../ledger/journal/close/closes-in-force.ts';
import { retiredWorkspaces } from '../../ledger/journal/retired-workspaces.ts';
import { describeTimesAhead, findTimesAhead, TIMES_AHEAD_REMEDY } from '../../ledger/journal/times-ahead.ts';
import { findGroupAccessFault, nearestFolder, requireLedgerPath } from '../../ledger/store/file/ledger-path.ts';
import { openForWriting, openReader, sqliteVersion } from '../../ledger/store/file/open.ts';
import { describeLockHolder } from '../../ledger/store/file/write-lock.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { type DoctorFinding, fail, failedWith, ok, warn } from './finding.ts';

const LOW_DISK_BYTES = 1024 ** 3;
/**
 * If another process holds the ledger's write lock for longer than this, the ledger counts as locked. Applying a run
 * takes less time.
 */
const DOCTOR_LOCK_WAIT_MS = 5000;
const MISMATCH_REMEDY =
  'stop the daemon and restore the right file; if this file was put there on purpose, the next run clears the warning';

export function checkLedger({ path, readerGroup }: Config['ledger']): DoctorFinding[] {
  let mismatch: string | null;
  try {
    requireLedgerPath(path, readerGroup);
    if (!existsSync(path)) return [ok('ledger', `${path} does not exist yet; the first sync creates it`)];
    const reader = openReader(path);
    mismatch = describeHeadMismatch(reader.connection, path);
    reader.close();
  } catch (error) {
    const { code, message, hint } = summarizeError(error);
    const remedy = hint ?? 'check ledger.path, or restore the ledger from a backup';
    return [code === 'ledger_outdated' ? warn('ledger', message, remedy) : fail('ledger', message, remedy)];
  }
  const holder = describeLockHolder(path, DOCTOR_LOCK_WAIT_MS);
  if (holder !== null) {
    const remedy = 'wait until that process ends its transaction, or stop it: until then no run can be applied';
    return [fail('ledger', `${path} is locked by ${holder}`, remedy)];
  }
  const opens =
    mismatch === null
      ? ok('ledger', `${path} opens and has the current schema`)
      : warn('ledger', `${path} is not the ledger that was here before: ${mismatch}`, MISMATCH_REMEDY);
  return readerGroup === undefined ? [opens] : [opens, checkReaders(path, readerGroup)];
}

/**
 * Warns about workspaces that are configured but were ended in this ledger. If the ledger cannot be read, `checkLedger`
 * reports that.
 */
export function checkEndedWorkspaces({ ledger, workspaces }: Pick<Config, 'ledger' | 'workspaces'>): DoctorFinding[] {
  const ended = queryLedger(ledger.path, retiredWorkspaces, []);
  const remedy = 'remove the workspace from the configuration, or read it again with `usage-ledger workspace resume`';
  return workspaces
    .filter(({ id }) => ended.includes(id))
    .map(({ id }) => warn('ended', 'the workspace was ended in this ledger and is no longer read', remedy, id));
}

export function checkCloses({ path }: Config['ledger']): DoctorFinding[] {
  const words = queryLedger(path, (connection) => describeSkipped(listSkippedMonths(connection)), null);
  if (words === null) return [];
  return [warn('closes', words, 'close each with `usage-ledger close PERIOD --workspace ID`')];
}

function checkReaders(path: string, group: string): DoctorFinding {
  try {
    const fault = findGroupAccessFault(path, group);
    if (fault !== null) return fail('ledger', fault.message, fault.hint, 'readers');
    return ok('ledger', `the group ${group} can read it`, 'readers');
  } catch (error) {
    return failedWith('ledger', error, 'correct ledger.reader_group', 'readers');
  }
}

/** Checks the bundled SQLite library on a temporary ledger. */
export function checkSqlite(): DoctorFinding[] {
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-doctor-'));
  try {
    const connection = openForWriting(join(folder, 'ledger.db'));
    const version = sqliteVersion(connection);
    connection.close();
    return [ok('sqlite', `SQLite ${version}`)];
  } catch (error) {
    return [failedWith('sqlite', error, 'reinstall better-sqlite3')];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function checkDisk(path: string): DoctorFinding[] {
  const folder = nearestFolder(path);
  return [diskFinding(folder, freeBytesAt(folder), statSync(path, { throwIfNoEntry: false })?.size ?? 0)];
}

export function diskFinding(folder: string, freeBytes: number, ledgerBytes: number): DoctorFinding {
  if (freeBytes <= MIN_FREE_BYTES) {
    return fail('disk', `only ${freeBytes} bytes free in ${folder}: nothing can be written`, 'free disk space now');
  }
  const message = `${(freeBytes / 1024 ** 3).toFixed(1)} GiB free in ${folder}`;
  if (freeBytes < LOW_DISK_BYTES) return warn('disk', message, 'free disk space: a full disk stops every sync');
  if (freeBytes < 2 * ledgerBytes) {
    const remedy = 'free twice the size of the ledger: a backup or a migration needs that much';
    return warn('disk', `${message}, less than twice the ledger`, remedy);
  }
  return ok('disk', message);
}

/**
 * Runs `query` on the ledger and returns its result. Returns `otherwise` if the ledger cannot be opened, which
 * `checkLedger` reports.
 */
export function queryLedger<T>(path: string, query: (connection: LedgerDb) => T, otherwise: T): T {
  try {
    const reader = openReader(path);
    try {
      return query(reader.connection);
    } finally {
      reader.close();
    }
  } catch (error) {
    if (error instanceof AppError) return otherwise;
    throw error;
  }
}

export function checkStoredTimes(path: string, nowMs: number): DoctorFinding[] {
  const found = queryLedger(path, (connection) => findTimesAhead(connection, nowMs), null);
  return found === null ? [] : [warn('clock', describeTimesAhead(found, nowMs), TIMES_AHEAD_REMEDY)];
}

const KEY_REMEDY = 'correct `ledger.checkpoint_key_file`, or the permissions of the file and its folder';

export function checkCheckpoints({
  path,
  checkpointKeyFile = checkpointKeyPath(path),
}: Config['ledger']): DoctorFinding[] {
  const fault = findSigningKeyFault(checkpointKeyFile);
  if (fault !== null) return [fail('checkpoints', `checkpoints cannot be signed: ${fault}`, KEY_REMEDY)];
  const lost = queryLedger(path, (connection) => describeMissingCheckpoints(connection, path, checkpointKeyFile), null);
  return lost === null ? [] : [warn('checkpoints', lost, MISSING_CHECKPOINTS_REMEDY)];
}
