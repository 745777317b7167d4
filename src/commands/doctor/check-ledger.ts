import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../config/types.ts';
import { AppError, summarizeError } from '../../core/errors.ts';
import { freeBytesAt } from '../../core/process/disk.ts';
import { MIN_FREE_BYTES } from '../../daemon/http/probe.ts';
import {
  headMismatch,
  keyFault,
  keyFileOf,
  LOST_CHECKPOINTS_REMEDY,
  lostCheckpoints,
} from '../../ledger/audit/anchor/checkpoint-log.ts';
import { skippedMonths, skippedWords } from '../../ledger/journal/close/closes-in-force.ts';
import { endedWorkspaces } from '../../ledger/journal/ended.ts';
import { describeAhead, TIMES_AHEAD_REMEDY, timesAhead } from '../../ledger/journal/times-ahead.ts';
import { openForWriting, openReader, sqliteVersion } from '../../ledger/store/file/open.ts';
import { nearestFolder, readerFault, requireLedgerPlace } from '../../ledger/store/file/place.ts';
import { lockHolder } from '../../ledger/store/file/write-lock.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { broken, type Finding, fail, ok, warn } from './finding.ts';

const LITTLE_DISK_BYTES = 1024 ** 3;
/** Longer than it takes to apply a run. */
const PATIENCE_MS = 5000;
const MISMATCH_REMEDY =
  'unless it was put there on purpose, stop the daemon and restore the right file; the next run settles it';

export function checkLedger({ path, readerGroup }: Config['ledger']): Finding[] {
  let mismatch: string | null;
  try {
    requireLedgerPlace(path, readerGroup);
    if (!existsSync(path)) return [ok('ledger', `${path} does not exist yet; the first sync creates it`)];
    const reader = openReader(path);
    mismatch = headMismatch(reader.connection, path);
    reader.close();
  } catch (error) {
    const { code, message, hint } = summarizeError(error);
    const remedy = hint ?? 'check ledger.path, or restore the ledger from a backup';
    return [code === 'ledger_outdated' ? warn('ledger', message, remedy) : fail('ledger', message, remedy)];
  }
  const holder = lockHolder(path, PATIENCE_MS);
  if (holder !== null) {
    const remedy = 'let it end its transaction, or end it: until then no run can be applied';
    return [fail('ledger', `${holder} keeps ${path} locked against writing`, remedy)];
  }
  const opens =
    mismatch === null
      ? ok('ledger', `${path} opens and has the schema of this version`)
      : warn('ledger', `${path} is not the ledger that was here last: ${mismatch}`, MISMATCH_REMEDY);
  return readerGroup === undefined ? [opens] : [opens, checkReaders(path, readerGroup)];
}

/** Configured workspaces that the ledger no longer reads. What keeps it from being read, `ledger` tells. */
export function checkEnded({ ledger, workspaces }: Pick<Config, 'ledger' | 'workspaces'>): Finding[] {
  const ended = askLedger(ledger.path, endedWorkspaces, []);
  const remedy = 'take it out of the configuration, or take the end back with `usage-ledger workspace resume`';
  return workspaces
    .filter(({ id }) => ended.includes(id))
    .map(({ id }) => warn('ended', 'it was ended in this ledger, and nothing reads it any more', remedy, id));
}

export function checkCloses({ path }: Config['ledger']): Finding[] {
  const words = askLedger(path, (connection) => skippedWords(skippedMonths(connection)), null);
  if (words === null) return [];
  return [warn('closes', words, 'close each with `usage-ledger close PERIOD --workspace ID`')];
}

function checkReaders(path: string, group: string): Finding {
  try {
    const fault = readerFault(path, group);
    if (fault !== null) return fail('ledger', fault.message, fault.hint, 'readers');
    return ok('ledger', `the group ${group} can read it`, 'readers');
  } catch (error) {
    return broken('ledger', error, 'correct ledger.reader_group', 'readers');
  }
}

/** The SQLite library inside, tried on a ledger that is thrown away. */
export function checkSqlite(): Finding[] {
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-doctor-'));
  try {
    const connection = openForWriting(join(folder, 'ledger.db'));
    const version = sqliteVersion(connection);
    connection.close();
    return [ok('sqlite', `SQLite ${version}`)];
  } catch (error) {
    return [broken('sqlite', error, 'reinstall better-sqlite3')];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function checkDisk(path: string): Finding[] {
  const folder = nearestFolder(path);
  return [judgeDisk(folder, freeBytesAt(folder), statSync(path, { throwIfNoEntry: false })?.size ?? 0)];
}

export function judgeDisk(folder: string, freeBytes: number, ledgerBytes: number): Finding {
  if (freeBytes <= MIN_FREE_BYTES) {
    return fail('disk', `only ${freeBytes} bytes are free in ${folder}: nothing can be written`, 'make room at once');
  }
  const message = `${(freeBytes / 1024 ** 3).toFixed(1)} GiB free in ${folder}`;
  if (freeBytes < LITTLE_DISK_BYTES)
    return warn('disk', message, 'make room: a full disk stops every sync until there is some');
  if (freeBytes < 2 * ledgerBytes) {
    const remedy = 'make room for twice the ledger: a backup, or a migration with its own copy, needs as much';
    return warn('disk', `${message}, less than twice the ledger`, remedy);
  }
  return ok('disk', message);
}

/** What a ledger says that can be read; of one that cannot, `checkLedger` tells. */
export function askLedger<T>(path: string, ask: (connection: LedgerDb) => T, otherwise: T): T {
  try {
    const reader = openReader(path);
    try {
      return ask(reader.connection);
    } finally {
      reader.close();
    }
  } catch (error) {
    if (error instanceof AppError) return otherwise;
    throw error;
  }
}

export function checkTimes(path: string, nowMs: number): Finding[] {
  const found = askLedger(path, (connection) => timesAhead(connection, nowMs), null);
  return found === null ? [] : [warn('clock', describeAhead(found, nowMs), TIMES_AHEAD_REMEDY)];
}

const KEY_REMEDY = 'correct `ledger.checkpoint_key_file`, or the rights of the file and its folder';

export function checkCheckpoints({ path, checkpointKeyFile = keyFileOf(path) }: Config['ledger']): Finding[] {
  const fault = keyFault(checkpointKeyFile);
  if (fault !== null) return [fail('checkpoints', `no checkpoint can be signed: ${fault}`, KEY_REMEDY)];
  const lost = askLedger(path, (connection) => lostCheckpoints(connection, path, checkpointKeyFile), null);
  return lost === null ? [] : [warn('checkpoints', lost, LOST_CHECKPOINTS_REMEDY)];
}
