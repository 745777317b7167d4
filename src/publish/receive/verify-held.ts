import Database from 'better-sqlite3';
import { expectCheckpoints } from '../../ledger/audit/anchor/check-anchors.ts';
import { originOf, parseCheckpoint } from '../../ledger/audit/anchor/checkpoint.ts';
import { type NoteVerifier, parseNotes, type SignedNote } from '../../ledger/audit/anchor/signed-note.ts';
import { checkMoney } from '../../ledger/audit/money/verify-money.ts';
import type { Check, Fault } from '../../ledger/audit/verify/fault.ts';
import { type VerifyReport, verifyLedgerFile } from '../../ledger/audit/verify/verify.ts';
import type { ReplicaClient } from '../connect.ts';
import { ReplicaError } from '../replica-error.ts';
import { type ReplicaState, readLocal } from '../send/position.ts';
import type { PublishedCheckpoint } from '../send/recent-checkpoints.ts';
import { checkHolding, type MachineKnowledge } from './check-holding.ts';
import { type Rebuilt, rebuildLedger } from './rebuild-ledger.ts';
import { replicaFault } from './replica-fault.ts';

export interface HeldOrder {
  client: ReplicaClient;
  ledgerId: string;
  /** The file to make, in a folder of the caller's own. */
  file: string;
  /** The key of the ledger, when it is known here: what bears its mark must be signed by it. */
  verifier: NoteVerifier | null;
  /** Null on another machine than the ledger's. */
  machine: MachineKnowledge | null;
  version: string;
  nowMs: number;
  signal: AbortSignal;
}

/** What the replica holds of a ledger, recomputed. */
export interface HeldReport extends Omit<VerifyReport, 'headDigest'> {
  headDigest: string;
  /** Null where no ledger could be made of it. */
  held: ReplicaState | null;
  checkpoints: PublishedCheckpoint[];
  /** Workspaces that its row of `ledgers` leaves to others, and of which nothing in its own rows says so. */
  left: readonly string[];
  /** The signed checkpoints against a ledger. */
  anchors: Check;
}

/**
 * Rebuilds a ledger from the replica in a file, recomputes there everything that `verify` does, and holds the replica's own row
 * and checkpoints of it against that. Rows of which no ledger can be made are a fault.
 */
export async function verifyHeld(order: HeldOrder): Promise<HeldReport> {
  let made: Rebuilt;
  try {
    made = await rebuildLedger(order);
  } catch (error) {
    if (!(error instanceof ReplicaError) || error.code !== 'replica_faulty') throw error;
    const faults = [replicaFault(error.message)];
    const nothing = { runs: 0, entries: 0, keys: 0, headDigest: '' };
    return { ...nothing, faults, held: null, checkpoints: [], left: [], anchors: () => [] };
  }
  const { held, checkpoints } = made;
  const notes = checkpoints.map(({ note }) => note).flatMap((note) => parseNotes(note) ?? []);
  const anchors = checkpointCheck(notes, order.verifier);
  const rebuilt = new Database(order.file, { readonly: true });
  try {
    const report = await verifyLedgerFile(rebuilt, [
      checkMoney,
      anchors,
      (connection) => checkHolding(connection, held, order.machine),
    ]);
    const faults = [...report.faults, ...strangeRows(order.ledgerId, checkpoints)];
    const exported = readLocal(rebuilt).elsewhere;
    const left = held.elsewhere.filter((id) => !exported.includes(id));
    return { ...report, faults, held, checkpoints, left, anchors };
  } finally {
    rebuilt.close();
  }
}

/** A machine that was lost took its key along: what it has signed is compared, and its signature cannot be judged here. */
function checkpointCheck(notes: readonly SignedNote[], verifier: NoteVerifier | null): Check {
  const isOurs = ({ signatures }: SignedNote): boolean =>
    verifier !== null && signatures.some(({ keyHash }) => keyHash.equals(verifier.keyHash));
  const ours = expectCheckpoints(notes.filter(isOurs), verifier);
  const others = expectCheckpoints(
    notes.filter((note) => !isOurs(note)),
    null,
  );
  return (connection) => [...ours(connection), ...others(connection)];
}

function strangeRows(id: string, checkpoints: readonly PublishedCheckpoint[]): Fault[] {
  return checkpoints
    .filter(({ seq, note }) => {
      const [only, ...more] = parseNotes(note) ?? [];
      const checkpoint = only === undefined || more.length > 0 ? null : parseCheckpoint(only.text);
      return checkpoint === null || checkpoint.seq !== seq;
    })
    .map(({ seq }) => replicaFault(`checkpoints (${originOf(id)}, seq ${seq}): it is no checkpoint of link ${seq}`));
}
