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
import { faultOf, type SuspectFile, verifySound } from '../../audit/verify/verify-sound.ts';
import { pauseRestored, readOutlets } from '../../journal/outlets/outlet-book.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import {
  copyLedger,
  isDamage,
  isLedgerItself,
  isSameFile,
  linkTo,
  syncPath,
  withRemedy,
} from '../../store/file/ledger-file.ts';
import { openForWriting, refuseOtherProgram } from '../../store/file/open.ts';
import { refuseDanglingLink } from '../../store/file/place.ts';
import { holdsLedger } from '../../store/file/schema-objects.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';
import { inWorkFolder } from '../../store/file/work-folder.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { ledgerId, writeMeta } from '../../store/schema/identity.ts';
import { assertSchemaIsCurrent, migrateLedger } from '../../store/schema/migrate.ts';

export interface RestoreOrder {
  file: string;
  /** Where the file came from, for messages; its path when absent. */
  source?: string;
  ledgerPath: string;
  /** Also when the ledger in place is another one than that of the backup. */
  replaceOther?: boolean;
  /** Set: the copy becomes a ledger of its own. */
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
  /** It has the schema of an older version: the next start migrates it. */
  outdated: boolean;
  replaced: ReplacedLedger | null;
}

/**
 * Puts a copy of a backup in the ledger's place, and keeps the ledger that was there beside it. Nothing is touched
 * before the copy has been checked as `verify` would; whenever the process is killed, the ledger's path leads either to
 * the old ledger or to the new one, whole. Throws LedgerError `backup_missing`, `not_a_backup`, `not_a_ledger`,
 * `backup_faulty`, `ledger_newer`, `ledger_in_use`, `other_ledger`, `ledger_link_broken`, `backup_failed`;
 * `ledger_outdated` for an older one that is to be a ledger of its own; the reason of `signal` when it aborts.
 */
export async function restoreLedger(order: RestoreOrder): Promise<RestoreReport> {
  const { signal, nowMs } = order;
  refuseDanglingLink(order.ledgerPath);
  // A link stays: what it leads to is replaced, on the disk that it leads to.
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
    return await inWorkFolder(`${ledgerPath}.restoring-`, async (folder) => {
      const copy = join(folder, 'ledger.db');
      await copyLedger(source, copy, signal);
      pauseOutlets(copy, nowMs);
      if (order.asNew !== undefined) giveIdentity(copy, order.asNew, nowMs);
      const { report, outdated } = verifyCopy(copy, order, suspect);
      // The check blocks: a signal that came meanwhile is delivered in the next turn.
      await nextTurn();
      signal.throwIfAborted();
      const replaced = await exchangeLedger(copy, ledgerPath, {
        ledgerId: order.asNew?.newLedgerId ?? ledgerId(source),
        replaceOther: order.replaceOther === true,
        nowMs,
      });
      const { runs, entries, keys, headDigest } = report;
      return { runs, entries, keys, headDigest, outdated, replaced };
    });
  } catch (error) {
    throw withRemedy(faultOf(error, suspect), `cannot restore ${ledgerPath}`);
  } finally {
    backup?.close();
  }
}

function openBackup(file: string, ledgerPath: string, { hint }: SuspectFile): LedgerDb {
  if (!existsSync(file)) {
    throw new LedgerError('backup_missing', `there is no file ${file}`, { hint: 'check the path of the backup' });
  }
  if (isLedgerItself(file, ledgerPath)) {
    throw new LedgerError('not_a_backup', `${file} is the ledger itself`, { hint: 'name the backup to restore' });
  }
  const connection = new Database(file, { readonly: true });
  try {
    if (!holdsLedger(connection)) throw new LedgerError('not_a_backup', `${file} holds no ledger`, { hint });
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** The checks know the schema of this version: an older backup is judged by what a migration makes of it. */
function verifyCopy(
  copy: string,
  { version, nowMs }: RestoreOrder,
  suspect: SuspectFile,
): { report: VerifyReport; outdated: boolean } {
  const connection = new Database(copy, { readonly: true });
  try {
    if (isCurrent(connection)) return { report: verifySound(connection, suspect), outdated: false };
  } finally {
    connection.close();
  }
  const trial = join(dirname(copy), 'trial.db');
  copyFileSync(copy, trial);
  const migrated = openForWriting(trial);
  try {
    migrateLedger(migrated, trial, version, nowMs);
    return { report: verifySound(migrated, suspect), outdated: true };
  } finally {
    migrated.close();
  }
}

/** False for an older schema; a newer one is refused. */
function isCurrent(connection: LedgerDb): boolean {
  try {
    assertSchemaIsCurrent(connection);
    return true;
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'ledger_outdated') return false;
    throw error;
  }
}

/** Billing systems may have what the copy knows nothing of: nothing goes there before a person says so. */
function pauseOutlets(copy: string, nowMs: number): void {
  const reader = new Database(copy, { readonly: true });
  const hasOutlets = isCurrent(reader) && readOutlets(reader).length > 0;
  reader.close();
  if (!hasOutlets) return;
  const connection = openForWriting(copy);
  try {
    connection.transaction(() => pauseRestored(connection, nowMs)).immediate();
    // As `copyLedger` leaves a copy: one file.
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
  syncPath(copy);
}

interface NewIdentity {
  newLedgerId: string;
  /** What of the original's own affairs is not the copy's; runs in the transaction that gives it its id. */
  leave: (connection: LedgerDb) => void;
}

/**
 * Gives the ledger file `copy`, which nobody else has open, an id of its own, and has it say which ledger and which head it was
 * made of (`made_of` in `ledger_meta`). Chain, entries and ids of alerts of workspaces stay as they are.
 */
function giveIdentity(copy: string, { newLedgerId, leave }: NewIdentity, nowMs: number): void {
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
    // As `copyLedger` leaves a copy: one file.
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
  syncPath(copy);
}

interface ReplacedLedger {
  path: string;
  /** Null when this version cannot read it. */
  headDigest: string | null;
}

interface Exchange {
  ledgerId: string;
  replaceOther: boolean;
  nowMs: number;
}

/** The old ledger in our hands; without a connection when it is too damaged to have one. */
interface Held {
  connection: LedgerDb | null;
  /** Null when this version cannot read it. */
  ledgerId: string | null;
  headDigest: string | null;
}

/**
 * Puts the ledger file `copy` (flushed, without sidecars, in a folder of ours on the same disk) in the place of the
 * ledger. The path leads to the old ledger until one rename makes it lead to the new one.
 *
 * The old one is held under SQLite's exclusive lock and without a WAL meanwhile. A process that opened it before the
 * rename and comes to write after it is refused by SQLite (`SQLITE_READONLY_DBMOVED`): it would otherwise leave a WAL of
 * the old file beside the new one.
 *
 * @returns the old ledger; null when there was none.
 * @throws LedgerError `ledger_in_use` when another process has the ledger open; `other_ledger`; `not_a_ledger`.
 */
async function exchangeLedger(copy: string, ledgerPath: string, order: Exchange): Promise<ReplacedLedger | null> {
  const { ledgerId: newId, replaceOther, nowMs } = order;
  const held = existsSync(ledgerPath) ? holdAlone(ledgerPath) : null;
  try {
    if (!replaceOther && held?.ledgerId != null && held.ledgerId !== newId) {
      throw new LedgerError('other_ledger', `the backup is of another ledger than the one at ${ledgerPath}`, {
        hint: 'check both paths; to put it in the place of the other one all the same, add --replace-other',
      });
    }
    removeUnfinished(ledgerPath);
    const aside = freeName(`${ledgerPath}.replaced-${fileTime(nowMs)}`);
    if (held !== null) await keep(ledgerPath, aside, dirname(copy), held.connection);
    // SQLite would take a log that it left, of whatever file, for a part of the new ledger.
    if (held?.connection == null) {
      for (const suffix of ['-wal', '-journal']) {
        if (existsSync(`${ledgerPath}${suffix}`)) renameSync(`${ledgerPath}${suffix}`, `${aside}${suffix}`);
      }
    }
    rmSync(`${ledgerPath}-shm`, { force: true });
    if (held !== null) keepReaders(ledgerPath, copy);
    renameSync(copy, ledgerPath);
    syncPath(dirname(ledgerPath));
    return held === null ? null : { path: aside, headDigest: held.headDigest };
  } finally {
    held?.connection?.close();
  }
}

/**
 * Takes the ledger for this process alone, with its WAL written back and gone. A process that has it open in WAL mode
 * holds a shared lock all the time, even when it is idle, and the change of the journal mode fails then.
 */
function holdAlone(ledgerPath: string): Held {
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
    if (isDamage(error)) return { connection: null, ledgerId: null, headDigest: null };
    if (!(error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY'))) throw error;
    throw new LedgerError('ledger_in_use', `another process has ${ledgerPath} open`, {
      hint: 'stop the daemon (such as `npx pm2 stop usage-ledger`), close every program that reads the ledger, try again',
      cause: error,
    });
  }
}

function readOrNull(read: () => string): string | null {
  try {
    return read();
  } catch {
    // Damaged, or of an older version: this much can be said without migrating it.
    return null;
  }
}

/**
 * Gives the old ledger its second name. Where there are no hard links it is copied: through the connection, because
 * opening the file beside SQLite and closing it again would give up the lock.
 */
async function keep(ledgerPath: string, aside: string, folder: string, connection: LedgerDb | null) {
  if (linkTo(ledgerPath, aside, () => new LedgerError('backup_failed', `${aside} exists`))) return;
  const unfinished = join(folder, 'replaced.db');
  if (connection === null) copyFileSync(ledgerPath, unfinished);
  else await connection.backup(unfinished);
  chmodSync(unfinished, 0o600);
  syncPath(unfinished);
  renameSync(unfinished, aside);
}

/** Whose group may read the old ledger may read the new one; its folder has given the copy the same group. */
function keepReaders(ledgerPath: string, copy: string): void {
  const old = statSync(ledgerPath);
  if (statSync(copy).gid === old.gid) chmodSync(copy, old.mode & 0o777);
}

/** A restore that was killed before its rename leaves a second name of the ledger that is still in place. */
function removeUnfinished(ledgerPath: string): void {
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
