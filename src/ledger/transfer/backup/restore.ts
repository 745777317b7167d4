import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { fileTime, isoTime, nextTurn } from '../../../core/clock.ts';
import type { VerifyReport } from '../../audit/verify/verify.ts';
import { faultOf, type SuspectFile, verifyOrThrow } from '../../audit/verify/verify-or-throw.ts';
import { pauseRestored, readOutlets } from '../../journal/outlets/outlet-book.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import {
  copyLedger,
  createHardLink,
  flushToDisk,
  isDamagedFileError,
  isLedgerFile,
  isSameFile,
  toBackupError,
} from '../../store/file/ledger-file.ts';
import { refuseDanglingLink } from '../../store/file/ledger-path.ts';
import { openForWriting, refuseOtherProgram } from '../../store/file/open.ts';
import { holdsLedger } from '../../store/file/schema-objects.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';
import { withWorkFolder } from '../../store/file/work-folder.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { ledgerId, writeMeta } from '../../store/schema/identity.ts';
import { assertSchemaIsCurrent, migrateLedger } from '../../store/schema/migrate.ts';

export interface RestoreOrder {
  file: string;
  /** Origin of the file, for messages; its path when absent. */
  source?: string;
  ledgerPath: string;
  /** Replaces the existing ledger even when it is not the one that was backed up. */
  replaceOther?: boolean;
  /** Makes the copy a ledger of its own. */
  asNew?: NewIdentity;
  version: string;
  nowMs: number;
  signal: AbortSignal;
}

export interface RestoreReport {
  runs: number;
  entries: number;
  keys: number;
  headDigest: string;
  /** The backup has the schema of an older version: the next start migrates it. */
  outdated: boolean;
  replaced: ReplacedLedger | null;
}

/**
 * Replaces the ledger with a copy of a backup, and keeps the replaced one next to it. Nothing is touched before the
 * copy has passed the checks of `verify`; whenever the process is killed, the ledger's path leads to the complete old
 * or the complete new ledger. Throws LedgerError `backup_missing`, `not_a_backup`, `not_a_ledger`, `backup_faulty`,
 * `ledger_newer`, `ledger_in_use`, `other_ledger`, `ledger_link_broken`, `backup_failed`; `ledger_outdated` for an
 * older backup that is to become a ledger of its own; the reason of `signal` when it aborts.
 */
export async function restoreLedger(order: RestoreOrder): Promise<RestoreReport> {
  const { signal, nowMs } = order;
  refuseDanglingLink(order.ledgerPath);
  // A symbolic link is kept: its target is replaced, on the target's disk.
  const ledgerPath = existsSync(order.ledgerPath) ? realpathSync(order.ledgerPath) : order.ledgerPath;
  const file = resolve(order.file);
  const suspect: SuspectFile = {
    what: order.source ?? file,
    hint: 'restore another backup; the ledger was not touched',
  };
  let backup: LedgerDb | undefined;
  try {
    backup = openBackup(file, ledgerPath, suspect);
    mkdirSync(dirname(ledgerPath), { recursive: true, mode: 0o700 });
    const source = backup;
    return await withWorkFolder(`${ledgerPath}.restoring-`, async (folder) => {
      const copy = join(folder, 'ledger.db');
      await copyLedger(source, copy, signal);
      pauseOutlets(copy, nowMs);
      if (order.asNew !== undefined) assignIdentity(copy, order.asNew, nowMs);
      const { report, outdated } = verifyRestored(copy, order, suspect);
      // The check blocks: a signal received meanwhile is delivered in the next turn.
      await nextTurn();
      signal.throwIfAborted();
      const replaced = await swapLedger(copy, ledgerPath, {
        ledgerId: order.asNew?.newLedgerId ?? ledgerId(source),
        replaceOther: order.replaceOther === true,
        nowMs,
      });
      const { runs, entries, keys, headDigest } = report;
      return { runs, entries, keys, headDigest, outdated, replaced };
    });
  } catch (error) {
    throw toBackupError(faultOf(error, suspect), `cannot restore ${ledgerPath}`);
  } finally {
    backup?.close();
  }
}

function openBackup(file: string, ledgerPath: string, { hint }: SuspectFile): LedgerDb {
  if (!existsSync(file)) {
    throw new LedgerError('backup_missing', `${file} does not exist`, { hint: 'check the path of the backup' });
  }
  if (isLedgerFile(file, ledgerPath)) {
    throw new LedgerError('not_a_backup', `${file} is the ledger itself`, { hint: 'name the backup to restore' });
  }
  const connection = new Database(file, { readonly: true });
  try {
    if (!holdsLedger(connection)) throw new LedgerError('not_a_backup', `${file} does not contain a ledger`, { hint });
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Verifies the copy. The checks require the schema of this version, so an older backup is verified after a trial
 * migration.
 */
function verifyRestored(
  copy: string,
  { version, nowMs }: RestoreOrder,
  suspect: SuspectFile,
): { report: VerifyReport; outdated: boolean } {
  const connection = new Database(copy, { readonly: true });
  try {
    if (isCurrent(connection)) return { report: verifyOrThrow(connection, suspect), outdated: false };
  } finally {
    connection.close();
  }
  const trial = join(dirname(copy), 'trial.db');
  copyFileSync(copy, trial);
  const migrated = openForWriting(trial);
  try {
    migrateLedger(migrated, trial, version, nowMs);
    return { report: verifyOrThrow(migrated, suspect), outdated: true };
  } finally {
    migrated.close();
  }
}

/** Returns false for an older schema; throws for a newer one. */
function isCurrent(connection: LedgerDb): boolean {
  try {
    assertSchemaIsCurrent(connection);
    return true;
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'ledger_outdated') return false;
    throw error;
  }
}

/**
 * Pauses all outlets, because billing systems may have received more than the copy knows: nothing is sent before a
 * person resumes them.
 */
function pauseOutlets(copy: string, nowMs: number): void {
  const reader = new Database(copy, { readonly: true });
  const hasOutlets = isCurrent(reader) && readOutlets(reader).length > 0;
  reader.close();
  if (!hasOutlets) return;
  const connection = openForWriting(copy);
  try {
    connection.transaction(() => pauseRestored(connection, nowMs)).immediate();
    // One file, as `copyLedger` leaves a copy.
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
  flushToDisk(copy);
}

interface NewIdentity {
  newLedgerId: string;
  /** Removes data about the original itself, in the transaction that assigns the new id. */
  leave: (connection: LedgerDb) => void;
}

/**
 * Gives the ledger file `copy`, which no other process has open, an id of its own, and records its original and that
 * one's head (`made_of` in `ledger_meta`). Chain, entries and ids of workspace alerts do not change.
 */
function assignIdentity(copy: string, { newLedgerId, leave }: NewIdentity, nowMs: number): void {
  const connection = openForWriting(copy);
  try {
    assertSchemaIsCurrent(connection);
    connection
      .transaction(() => {
        const { seq, digest } = headOfChain(connection);
        const origin = { ledger_id: ledgerId(connection), position: seq, head_digest: digest, at: isoTime(nowMs) };
        writeMeta(connection, 'made_of', JSON.stringify(origin));
        writeMeta(connection, 'ledger_id', newLedgerId);
        leave(connection);
      })
      .immediate();
    // One file, as `copyLedger` leaves a copy.
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
  flushToDisk(copy);
}

interface ReplacedLedger {
  path: string;
  /** Null when this version cannot read it. */
  headDigest: string | null;
}

interface LedgerSwap {
  ledgerId: string;
  replaceOther: boolean;
  nowMs: number;
}

/** The locked old ledger; without a connection when it is too damaged to open. */
interface LockedLedger {
  connection: LedgerDb | null;
  /** Null when this version cannot read it. */
  ledgerId: string | null;
  headDigest: string | null;
}

/**
 * Moves the ledger file `copy` (flushed, without sidecars, in a private folder on the same disk) into the place of the
 * ledger. The path leads to the old ledger until a single rename switches it to the new one. Meanwhile the old one is
 * held under SQLite's exclusive lock, without a WAL. SQLite refuses a process that opened it before the rename and
 * writes afterwards (`SQLITE_READONLY_DBMOVED`); its WAL would otherwise end up next to the new file. Returns the old
 * ledger; null when there was none. Throws LedgerError `ledger_in_use` when another process has the ledger open;
 * `other_ledger`; `not_a_ledger`.
 */
async function swapLedger(copy: string, ledgerPath: string, order: LedgerSwap): Promise<ReplacedLedger | null> {
  const { ledgerId: newId, replaceOther, nowMs } = order;
  const held = existsSync(ledgerPath) ? lockExclusively(ledgerPath) : null;
  try {
    if (!replaceOther && held?.ledgerId != null && held.ledgerId !== newId) {
      throw new LedgerError('other_ledger', `the backup belongs to another ledger than the one at ${ledgerPath}`, {
        hint: 'check both paths; to replace the other ledger anyway, add --replace-other',
      });
    }
    removeUnfinishedRestores(ledgerPath);
    const aside = freeName(`${ledgerPath}.replaced-${fileTime(nowMs)}`);
    if (held !== null) await keepOldLedger(ledgerPath, aside, dirname(copy), held.connection);
    // SQLite would apply a leftover log of any file to the new ledger.
    if (held?.connection == null) {
      for (const suffix of ['-wal', '-journal']) {
        if (existsSync(`${ledgerPath}${suffix}`)) renameSync(`${ledgerPath}${suffix}`, `${aside}${suffix}`);
      }
    }
    rmSync(`${ledgerPath}-shm`, { force: true });
    if (held !== null) copyReadAccess(ledgerPath, copy);
    renameSync(copy, ledgerPath);
    flushToDisk(dirname(ledgerPath));
    return held === null ? null : { path: aside, headDigest: held.headDigest };
  } finally {
    held?.connection?.close();
  }
}

/**
 * Opens the ledger exclusively, with its WAL written back and removed. A process that has it open in WAL mode holds a
 * shared lock even when idle, so that changing the journal mode fails.
 */
function lockExclusively(ledgerPath: string): LockedLedger {
  refuseOtherProgram(ledgerPath);
  const connection = new Database(ledgerPath, { timeout: 0 });
  try {
    connection.pragma('locking_mode = EXCLUSIVE');
    connection.pragma('journal_mode = DELETE');
    connection.exec('BEGIN EXCLUSIVE; COMMIT');
    return {
      connection,
      ledgerId: readOrNull(() => ledgerId(connection)),
      headDigest: readOrNull(() => headOfChain(connection).digest),
    };
  } catch (error) {
    connection.close();
    if (isDamagedFileError(error)) return { connection: null, ledgerId: null, headDigest: null };
    if (!(error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY'))) throw error;
    throw new LedgerError('ledger_in_use', `another process has ${ledgerPath} open`, {
      hint: 'stop the daemon (such as `npx pm2 stop usage-ledger`), close every program that reads the ledger, and try again',
      cause: error,
    });
  }
}

function readOrNull(read: () => string): string | null {
  try {
    return read();
  } catch {
    // Damaged, or of an older version: cannot be read without migrating it.
    return null;
  }
}

/**
 * Gives the old ledger its second name. Without hard links it is copied through the connection, because opening the
 * file separately and closing it again would release the lock.
 */
async function keepOldLedger(ledgerPath: string, aside: string, folder: string, connection: LedgerDb | null) {
  if (createHardLink(ledgerPath, aside, () => new LedgerError('backup_failed', `${aside} exists`))) return;
  const unfinished = join(folder, 'replaced.db');
  if (connection === null) copyFileSync(ledgerPath, unfinished);
  else await connection.backup(unfinished);
  chmodSync(unfinished, 0o600);
  flushToDisk(unfinished);
  renameSync(unfinished, aside);
}

/** Lets the group that may read the old ledger read the new one; the copy has the group of its folder. */
function copyReadAccess(ledgerPath: string, copy: string): void {
  const old = statSync(ledgerPath);
  if (statSync(copy).gid === old.gid) chmodSync(copy, old.mode & 0o777);
}

/** Removes the second name that a restore killed before its rename left on the ledger still in place. */
function removeUnfinishedRestores(ledgerPath: string): void {
  const folder = dirname(ledgerPath);
  const prefix = `${basename(ledgerPath)}.replaced-`;
  for (const name of readdirSync(folder).filter((candidate) => candidate.startsWith(prefix))) {
    if (isSameFile(join(folder, name), ledgerPath)) rmSync(join(folder, name));
  }
}

function freeName(wanted: string): string {
  let name = wanted;
  for (let number = 2; existsSync(name); number += 1) name = `${wanted}-${number}`;
  return name;
}
