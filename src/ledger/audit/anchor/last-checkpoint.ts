import { readFileSync } from 'node:fs';
import { linkAt } from '../../journal/links.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { ledgerId } from '../../store/schema/identity.ts';
import { type Checkpoint, originOf, parseCheckpoint } from './checkpoint.ts';
import { checkpointsBeside } from './checkpoint-log.ts';

/**
 * Why the file at the ledger's path is not the ledger that was last written there, with both heads: another one, an older
 * copy, or one with another history. Null when it goes on from its last checkpoint, or there is none to compare with.
 */
export function strangeLedger(connection: LedgerConnection, ledgerPath: string): string | null {
  const id = ledgerId(connection);
  const last = lastCheckpoint(ledgerPath, id);
  if (last === null) return null;
  const head = headOfChain(connection);
  const here = `link ${head.seq} (${head.digest})`;
  const then = `link ${last.seq} (${last.digest}, ${last.at})`;
  if (last.ledgerId !== id)
    return `it is the ledger ${id} at ${here}; the last checkpoint is of ${last.ledgerId} at ${then}`;
  if (last.seq > head.seq) return `it is an older copy, which ends at ${here}; its last checkpoint is ${then}`;
  const digest = linkAt(connection, last.seq)?.digest;
  return digest === last.digest
    ? null
    : `its link ${last.seq} is ${digest}; its last checkpoint is ${then}, another history`;
}

/** Of this ledger if the log has one, for ledgers in one folder share it; else of whichever was there last. */
function lastCheckpoint(ledgerPath: string, id: string): Checkpoint | null {
  let log: string;
  try {
    log = readFileSync(checkpointsBeside(ledgerPath), 'utf8');
  } catch {
    return null;
  }
  const texts = log.split(/\n\n— [^\n]*\n+/).filter((text) => text !== '');
  const text = texts.findLast((candidate) => candidate.startsWith(`${originOf(id)}\n`)) ?? texts.at(-1);
  return text === undefined ? null : parseCheckpoint(`${text}\n`);
}
