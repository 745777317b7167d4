import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { parseCheckpoint } from '../../ledger/audit/anchor/checkpoint.ts';
import { checkpointsBeside } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { formatNote, parseNotes } from '../../ledger/audit/anchor/signed-note.ts';

/** Some hundred notes. */
const TAIL_BYTES = 64 * 1024;

export interface PublishedCheckpoint {
  seq: number;
  note: string;
}

/** The latest signed heads of the ledger in the log beside it, in their order; none where it cannot be read. */
export function recentCheckpoints(ledgerPath: string, ledgerId: string): PublishedCheckpoint[] {
  let tail: string;
  try {
    tail = readTail(checkpointsBeside(ledgerPath));
  } catch {
    return [];
  }
  // What was cut begins somewhere inside a note.
  const start = tail.startsWith('usage-ledger/') ? 0 : tail.indexOf('\n\nusage-ledger/') + 2;
  return (parseNotes(tail.slice(start)) ?? []).flatMap((note) => {
    const checkpoint = parseCheckpoint(note.text);
    // Ledgers that lie in one folder share the log.
    const isOurs = checkpoint?.ledgerId === ledgerId;
    return isOurs ? [{ seq: checkpoint.seq, note: formatNote(note) }] : [];
  });
}

function readTail(path: string): string {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString('utf8');
  } finally {
    closeSync(file);
  }
}
