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
import { type SuspectFile, toDamagedFileError, verifyOrThrow } from '../../audit/verify/verify-or-throw.ts';
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

export interface LedgerRestoreRequest {
  file: string;
  /**
   * The name that messages use for the file, such as the URL that it was downloaded from. If absent, messages use the
   * file's path.
   */
  source?: string;
  ledgerPath: string;
  /** True: the existing ledger is replaced even if the backup is of another ledger. */
  replaceOther?: boolean;
  /** Gives the restored copy an id of its own, so that it is a separate ledger. */
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
  /** True when the backup has the schema of an older version, which the next start of the program migrates. */
  outdated: boolean;
  replaced: ReplacedLedger | null;
}

/**
 * Replaces the ledger with a copy of a backup, and keeps the replaced one next to it. Nothing is changed before the
 * copy has passed the checks of `verify`. Even if the process is killed, the ledger's path leads to the complete old or
 * the complete new ledger. Throws LedgerError `backup_missing`, `not_a_backup`, `not_a_ledger`, `backup_faulty`,
 * `ledger_newer`, `ledger_in_use`, `other_ledger`, `ledger_link_broken`, `backup_failed`; `ledger_outdated` for an
 * older backup that is to become a ledger of its own; the reason of `signal` when it aborts.
 */
export async function restoreLedger(order: LedgerRestoreRequest): Promise<RestoreReport> {
  const { signal, nowMs } = order;
  refuseDanglingLink(order.ledgerPath);
  // If the ledger's path is a symbolic link, the link is kept and its target is replaced.
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
      // The verification blocks the event loop, so a stop signal received meanwhile arrives in the next turn.
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
    throw toBackupError(toDamagedFileError(error, suspect), `cannot restore ${ledgerPath}`);
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
  { version, nowMs }: LedgerRestoreRequest,
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

/**
 * Returns true if the ledger has the schema of this version, and false if it has an older schema. Throws for a newer
 * schema.
 */
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
 * Pauses all outlets of the copy, because receivers may have more entries than the copy contains. Outlets send nothing
 * until a person resumes them.
 */
function pauseOutlets(copy: string, nowMs: number): void {
  const reader = new Database(copy, { readonly: true });
  const hasOutlets = isCurrent(reader) && readOutlets(reader).length > 0;
  reader.close();
  if (!hasOutlets) return;
  const connection = openForWriting(copy);
  try {
    connection.transaction(() => pauseRestored(connection, nowMs)).immediate();
    // Makes the ledger a single file, as `copyLedger` does.
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
  flushToDisk(copy);
}

interface NewIdentity {
  newLedgerId: string;
  /** Called in the transaction that assigns the new id, to remove data that concerns only the original ledger. */
  leave: (connection: LedgerDb) => void;
}

/**
 * Gives the ledger file `copy`, which no other process has open, a new id. Records the id and the head of the original
 * as `made_of` in `ledger_meta`. Does not change the chain, the entries and the ids of workspace alerts.
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
    // Makes the ledger a single file, as `copyLedger` does.
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
  flushToDisk(copy);
}

interface ReplacedLedger {
  path: string;
  /** Null when this version of the program cannot read the old ledger. */
  headDigest: string | null;
}

interface LedgerSwap {
  ledgerId: string;
  replaceOther: boolean;
  nowMs: number;
}

/** The old ledger while it is locked. `connection` is null when the file is too damaged to open. */
interface LockedLedger {
  connection: LedgerDb | null;
  /** Null when this version of the program cannot read the old ledger. */
  ledgerId: string | null;
  headDigest: string | null;
}

/**
 * Replaces the ledger by the ledger file `copy` (flushed, without sidecars, in a private folder on the same disk). The
 * path leads to the old ledger until a single rename switches it to the new one. Meanwhile the old ledger is held under
 * SQLite's exclusive lock, without a WAL. If a process opened the old ledger before the rename and writes afterwards,
 * SQLite refuses the write (`SQLITE_READONLY_DBMOVED`); otherwise the WAL of that process would be created next to the
 * new file. Returns the old ledger; null when there was none. Throws LedgerError `ledger_in_use` when another process
 * has the ledger open; `other_ledger`; `not_a_ledger`.
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
    // Otherwise SQLite would apply a leftover log to the new ledger.
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
 * Opens the ledger under SQLite's exclusive lock, and writes its WAL back and removes it. Throws `ledger_in_use` if
 * another process has the ledger open: in WAL mode, even an idle process holds a shared lock.
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
    // The ledger is damaged, or has an older schema that cannot be read without a migration.
    return null;
  }
}

/**
 * Keeps the old ledger under a second name. On a file system without hard links, copies it through the connection that
 * holds the lock: opening and closing the file separately would release the lock.
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

/**
 * Gives the copy the access mode of the old ledger, so that members of the reader group can read the copy. Does so only
 * if both files have the same group.
 */
function copyReadAccess(ledgerPath: string, copy: string): void {
  const old = statSync(ledgerPath);
  if (statSync(copy).gid === old.gid) chmodSync(copy, old.mode & 0o777);
}

/**
 * Removes the second names of the current ledger that an earlier restore left behind because it was killed before its
 * last step.
 */
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
