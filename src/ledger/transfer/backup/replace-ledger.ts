import { chmodSync, copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { isoTime } from '../../../core/clock.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import { isDamage, isSameFile, linkTo, syncPath } from '../../store/file/ledger-file.ts';
import { type LedgerConnection, refuseOtherProgram } from '../../store/file/open.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';
import { ledgerId } from '../../store/schema/identity.ts';

export interface ReplacedLedger {
  path: string;
  /** Null when this version cannot read it. */
  headDigest: string | null;
}

export interface Exchange {
  ledgerId: string;
  /** Also in the place of a ledger with another id. */
  replaceOther: boolean;
  nowMs: number;
}

/** The old ledger in our hands; without a connection when it is too damaged to have one. */
interface Held {
  connection: LedgerConnection | null;
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
export async function exchangeLedger(
  copy: string,
  ledgerPath: string,
  order: Exchange,
): Promise<ReplacedLedger | null> {
  const { ledgerId: newId, replaceOther, nowMs } = order;
  const held = existsSync(ledgerPath) ? holdAlone(ledgerPath) : null;
  try {
    if (!replaceOther && held?.ledgerId != null && held.ledgerId !== newId) {
      throw new LedgerError('other_ledger', `the backup is of another ledger than the one at ${ledgerPath}`, {
        hint: 'check both paths; to put it in the place of the other one all the same, add --replace-other',
      });
    }
    removeUnfinished(ledgerPath);
    const aside = freeName(`${ledgerPath}.replaced-${isoTime(nowMs).replaceAll(/[-:]/g, '').slice(0, 15)}Z`);
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
async function keep(ledgerPath: string, aside: string, folder: string, connection: LedgerConnection | null) {
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
