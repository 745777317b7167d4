import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { nextTurn } from '../../../core/clock.ts';
import { replaceCards } from '../../journal/charges/card-store.ts';
import { LedgerError } from '../../store/errors.ts';
import { withRemedy } from '../../store/file/ledger-file.ts';
import { openForWriting } from '../../store/file/open.ts';
import { inWorkFolder } from '../../store/file/work-folder.ts';
import { markExport } from '../../store/schema/identity.ts';
import { migrateLedger } from '../../store/schema/migrate.ts';
import { findWorkspace } from '../../store/subjects.ts';
import { type BackupReport, backupLedger } from '../backup/backup.ts';
import { pricesOf } from './concerned.ts';
import { type ImportOrder, importWorkspace } from './import-workspace.ts';
import { type MoveRequest, sealWorkspace } from './seal-workspace.ts';

export interface ExportFileOrder extends MoveRequest, Pick<ImportOrder, 'price' | 'checks'> {
  /** Of the ledger to which the workspace is closed already, see `sealWorkspace`. */
  ledgerPath: string;
  /** The file to write; its folder must exist. */
  target: string;
  /** Replaces the target when it exists. */
  force: boolean;
  /** Of this program. */
  version: string;
  signal: AbortSignal;
}

/**
 * Writes a ledger that has this workspace alone, with all its history: it is brought there as `importWorkspace` brings it to
 * another machine, from a copy of the whole ledger that is checked first and stays beside the ledger until then. The file is new,
 * so no page of it has ever held anything else, and it is checked by itself before it gets its name.
 *
 * @throws LedgerError what `backupLedger` and `importWorkspace` throw; the reason of `signal` when it aborts.
 */
export async function exportFile(order: ExportFileOrder): Promise<BackupReport> {
  const { ledgerPath, target, force, signal } = order;
  try {
    return await inWorkFolder(`${realpathSync(ledgerPath)}.exporting-`, async (folder) => {
      const whole = join(folder, 'whole.db');
      await backupLedger({ ledgerPath, target: whole, signal });
      const own = join(folder, 'own.db');
      fill(own, whole, order);
      // Filling blocks: a signal that came meanwhile is delivered in the next turn.
      await nextTurn();
      return await backupLedger({ ledgerPath: own, target, force, signal });
    });
  } catch (error) {
    throw withRemedy(error, `cannot write ${target}`);
  }
}

function fill(file: string, whole: string, order: ExportFileOrder): void {
  const { workspaceId, by, nowMs, price, checks, version } = order;
  const connection = openForWriting(file);
  const origin = new Database(whole, { readonly: true });
  try {
    migrateLedger(connection, file, version, nowMs);
    const workspace = findWorkspace(origin, workspaceId);
    if (workspace === undefined) throw new LedgerError('not_an_export', `the ledger has lost ${workspaceId}`);
    const cards = pricesOf(origin, origin, workspace).map(({ card }) => card);
    replaceCards(connection, { cards, source: 'configuration', nowMs });
    importWorkspace({ connection, file: whole, workspaceId, by, nowMs, price, checks });
    sealWorkspace(connection, { workspaceId, by, nowMs });
    markExport(connection, workspaceId);
  } finally {
    origin.close();
    connection.close();
  }
}
