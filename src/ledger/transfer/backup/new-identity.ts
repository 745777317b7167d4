import { isoTime } from '../../../core/clock.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import { syncPath } from '../../store/file/ledger-file.ts';
import { type LedgerConnection, openForWriting } from '../../store/file/open.ts';
import { ledgerId, writeMeta } from '../../store/schema/identity.ts';
import { assertSchemaIsCurrent } from '../../store/schema/migrate.ts';

/** A copy that becomes a ledger of its own. */
export interface NewIdentity {
  newLedgerId: string;
  /** What of the original's own affairs is not the copy's; runs in the transaction that gives it its id. */
  leave: (connection: LedgerConnection) => void;
}

/**
 * Gives the ledger file `copy`, which nobody else has open, an id of its own, and has it say which ledger and which head it was
 * made of (`made_of` in `ledger_meta`). Chain, entries and ids of alerts of workspaces stay as they are.
 */
export function giveIdentity(copy: string, { newLedgerId, leave }: NewIdentity, nowMs: number): void {
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
