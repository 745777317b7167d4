import { existsSync, readFileSync } from 'node:fs';
import { linkAt } from '../../journal/links.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { ledgerId } from '../../store/schema/identity.ts';
import { type Checkpoint, parseCheckpoint } from './checkpoint.ts';
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

/**
 * Why nothing beside the ledger tells what its chain ended with, though it has links, and the key that signs each of them: somebody
 * has taken the log away, or emptied it. Null when there is a checkpoint, or was none to be expected.
 */
export function lostCheckpoints(connection: LedgerConnection, ledgerPath: string, keyFile: string): string | null {
  if (!existsSync(keyFile) || headOfChain(connection).seq === 0) return null;
  if (lastCheckpoint(ledgerPath, ledgerId(connection)) !== null) return null;
  const log = checkpointsBeside(ledgerPath);
  const found = existsSync(log) ? `${log} holds no checkpoint` : `${log} is gone`;
  return `${found}, though the key that signs them, ${keyFile}, is there`;
}

/** What to do about it. */
export const LOST_CHECKPOINTS_REMEDY =
  'unless you have moved it yourself, compare the ledger with a copy that was kept elsewhere (`usage-ledger verify --checkpoint FILE`); ' +
  'the next run begins a new log';

/** Of this ledger if a log has one, for ledgers in one folder share it; else of whichever was there last. */
function lastCheckpoint(ledgerPath: string, id: string): Checkpoint | null {
  const log = checkpointsBeside(ledgerPath);
  let another: Checkpoint | null = null;
  for (const file of [log, `${log}.1`]) {
    for (const line of linesOf(file).reverse()) {
      const checkpoint = parseCheckpoint(line);
      if (checkpoint?.ledgerId === id) return checkpoint;
      another ??= checkpoint;
    }
  }
  return another;
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}
