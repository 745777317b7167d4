import { existsSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { nextTurn } from '../../../core/clock.ts';
import { faultOf, type SuspectFile, verifySound } from '../../audit/verify/verify-sound.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import { LedgerError } from '../../store/errors.ts';
import { copyLedger, isLedgerItself, withRemedy } from '../../store/file/ledger-file.ts';
import { closeForWriting, openForWriting } from '../../store/file/open.ts';
import { holdsLedger } from '../../store/file/schema-objects.ts';
import { inWorkFolder } from '../../store/file/work-folder.ts';
import { assertSchemaIsCurrent } from '../../store/schema/migrate.ts';
import { requireAlone } from '../backup/replace-ledger.ts';
import { type ImportedWorkspace, type ImportOrder, importWorkspace } from './import-workspace.ts';

export interface ImportFileOrder extends Omit<ImportOrder, 'connection' | 'file' | 'workspaceId'> {
  /** What `workspace export` has written; it is read and stays where it is. */
  file: string;
  /** An existing ledger of this version's schema. */
  ledgerPath: string;
  /** The head digest that the export said: the chain in the file must end with it. */
  expectedHead?: string | undefined;
  signal: AbortSignal;
}

/**
 * Imports a workspace from the file of an export into a ledger that no other process has open. The file is copied and checked
 * as `verify` would first; whenever the process is killed, the workspace is there with all its history or not at all.
 *
 * @throws LedgerError `backup_missing`, `not_a_backup`, `backup_faulty`, `other_schema`, `ledger_in_use`, `backup_failed` and
 *   what `importWorkspace` throws; the reason of `signal` when it aborts.
 */
export async function importFile(order: ImportFileOrder): Promise<ImportedWorkspace> {
  const { signal, expectedHead } = order;
  const ledgerPath = realpathSync(order.ledgerPath);
  const file = resolve(order.file);
  const suspect: SuspectFile = { what: file, hint: 'export again; nothing was changed here' };
  try {
    requireExport(file, ledgerPath);
    requireAlone(ledgerPath);
    return await inWorkFolder(`${ledgerPath}.importing-`, async (folder) => {
      const copy = join(folder, 'origin.db');
      await copyFile(file, copy, signal);
      checkCopy(copy, suspect, expectedHead);
      // The check blocks: a signal that came meanwhile is delivered in the next turn.
      await nextTurn();
      signal.throwIfAborted();
      const connection = openForWriting(ledgerPath);
      try {
        return importWorkspace({ ...order, connection, file: copy });
      } finally {
        closeForWriting(connection);
      }
    });
  } catch (error) {
    throw withRemedy(faultOf(error, suspect), `cannot import into ${ledgerPath}`);
  }
}

function requireExport(file: string, ledgerPath: string): void {
  if (!existsSync(file)) {
    throw new LedgerError('backup_missing', `there is no file ${file}`, { hint: 'check the path of the export' });
  }
  if (isLedgerItself(file, ledgerPath)) {
    throw new LedgerError('not_a_backup', `${file} is the ledger itself`, { hint: 'name the file of the export' });
  }
}

async function copyFile(file: string, copy: string, signal: AbortSignal): Promise<void> {
  const source = new Database(file, { readonly: true });
  try {
    if (!holdsLedger(source)) {
      throw new LedgerError('not_a_backup', `${file} holds no ledger`, { hint: 'name the file of the export' });
    }
    await copyLedger(source, copy, signal);
  } finally {
    source.close();
  }
}

/** Sound by itself; what must hold of money is checked once it is here, with everything else. */
function checkCopy(copy: string, suspect: SuspectFile, expectedHead: string | undefined): void {
  const connection = new Database(copy, { readonly: true });
  try {
    requireThisSchema(connection);
    verifySound(connection, suspect);
    const head = headOfChain(connection).digest;
    if (expectedHead !== undefined && expectedHead !== head) {
      throw new LedgerError('backup_faulty', `${suspect.what} is not what was exported: its chain ends with ${head}`, {
        hint: suspect.hint,
      });
    }
  } finally {
    connection.close();
  }
}

function requireThisSchema(connection: Database.Database): void {
  try {
    assertSchemaIsCurrent(connection);
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    throw new LedgerError('other_schema', 'the file was written by another version of usage-ledger than this one', {
      hint: 'install the same version on both machines and export again',
      cause: error,
    });
  }
}
