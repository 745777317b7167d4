import { copyFileSync, existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { isoTime, nextTurn } from '../../../core/clock.ts';
import type { VerifyReport } from '../../audit/verify/verify.ts';
import { faultOf, type SuspectFile, verifySound } from '../../audit/verify/verify-sound.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import { copyLedger, isLedgerItself, syncPath, withRemedy } from '../../store/file/ledger-file.ts';
import { type LedgerConnection, openForWriting } from '../../store/file/open.ts';
import { refuseDanglingLink } from '../../store/file/place.ts';
import { holdsLedger } from '../../store/file/schema-objects.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';
import { inWorkFolder } from '../../store/file/work-folder.ts';
import { ledgerId, writeMeta } from '../../store/schema/identity.ts';
import { assertSchemaIsCurrent, migrateLedger } from '../../store/schema/migrate.ts';
import { exchangeLedger, type ReplacedLedger } from './replace-ledger.ts';

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
  /** Applied runs of the ledger that is in place now. */
  runs: number;
  entries: number;
  keys: number;
  headDigest: string;
  /** It has the schema of an older version: the next start migrates it. */
  outdated: boolean;
  replaced: ReplacedLedger | null;
}

/**
 * Puts a copy of a backup in the ledger's place, and keeps the ledger that was there beside it. Nothing is touched before
 * the copy has been checked as `verify` would; whenever the process is killed, the ledger's path leads either to the old
 * ledger or to the new one, whole.
 *
 * @throws LedgerError `backup_missing`, `not_a_backup`, `not_a_ledger`, `backup_faulty`, `ledger_newer`, `ledger_in_use`,
 *   `other_ledger`, `ledger_link_broken`, `backup_failed`; `ledger_outdated` for an older one that is to be a ledger of its own; the
 *   reason of `signal` when it aborts.
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
  let backup: LedgerConnection | undefined;
  try {
    backup = openBackup(file, ledgerPath, suspect);
    mkdirSync(dirname(ledgerPath), { recursive: true, mode: 0o700 });
    const source = backup;
    return await inWorkFolder(`${ledgerPath}.restoring-`, async (folder) => {
      const copy = join(folder, 'ledger.db');
      await copyLedger(source, copy, signal);
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

function openBackup(file: string, ledgerPath: string, { hint }: SuspectFile): LedgerConnection {
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
function isCurrent(connection: LedgerConnection): boolean {
  try {
    assertSchemaIsCurrent(connection);
    return true;
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'ledger_outdated') return false;
    throw error;
  }
}

interface NewIdentity {
  newLedgerId: string;
  /** What of the original's own affairs is not the copy's; runs in the transaction that gives it its id. */
  leave: (connection: LedgerConnection) => void;
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
