import { type ChannelRoute, setRoutes } from '../alerts/track/routes.ts';
import { type PackedError, packError } from '../core/crossing-errors.ts';
import { createRedactor } from '../core/text/redact.ts';
import { CheckpointLog, keyFileOf, linkKeyOf } from '../ledger/audit/anchor/checkpoint-log.ts';
import type { Claimant } from '../ledger/journal/runs/claim-run.ts';
import { closeForWriting, type LedgerConnection, openForWriting } from '../ledger/store/file/open.ts';
import { ledgerErrorOf } from '../ledger/store/file/sqlite-errors.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import { type MigrationReport, migrateLedger } from '../ledger/store/schema/migrate.ts';
import type { Desk } from './commands/desk.ts';
import type { WriterStart } from './writer.ts';

/** Creates or migrates the ledger. */
export function openDesk(start: WriterStart, claimant: Claimant = {}): { desk: Desk; migration: MigrationReport } {
  const connection = openForWriting(start.path, start.readerGroup);
  try {
    connection.pragma('cache_size = -32768');
    connection.pragma('temp_store = MEMORY');
    connection.pragma('journal_size_limit = 16777216');
    const migration = migrateLedger(connection, start.path, start.version, start.nowMs, start.newLedgerId);
    const keyFile = start.checkpointKeyFile ?? keyFileOf(start.path);
    setRoutes(connection, signing(start.routes ?? [], keyFile));
    const checkpoints = new CheckpointLog(start.path, {
      keyFile,
      ledgerId: ledgerId(connection),
      alone: (work) => connection.transaction(work).immediate(),
    });
    const redact = createRedactor(start.secrets ?? []);
    return { desk: { ...plainDesk(connection), redact, checkpoints, claimant }, migration };
  } catch (error) {
    closeForWriting(connection);
    throw error;
  }
}

/** Routes whose messages have links to the pages get what signs them. */
function signing(routes: readonly ChannelRoute[], keyFile: string): ChannelRoute[] {
  return routes.map((route) => {
    const linkKey = route.publicUrl === undefined ? null : linkKeyOf(keyFile);
    return linkKey === null ? route : { ...route, linkKey };
  });
}

/** A desk over a ledger that is open already, without secrets and checkpoints. */
export function plainDesk(connection: LedgerConnection): Desk {
  return { connection, redact: (text) => text, checkpoints: null, claimant: {}, runs: new Map() };
}

/** An error of the writer on its way to who gave the command: what SQLite says becomes an error of the ledger. */
export function packWriterError(error: unknown): PackedError {
  return packError(ledgerErrorOf(error) ?? error);
}
