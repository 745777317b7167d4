import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expectCheckpoints } from '../../ledger/audit/anchor/check-anchors.ts';
import { type NoteVerifier, parseNotes, type SignedNote } from '../../ledger/audit/anchor/signed-note.ts';
import { checkMoney } from '../../ledger/audit/money/verify-money.ts';
import type { Check, Fault } from '../../ledger/audit/verify/fault.ts';
import { type VerifyReport, verifyLedgerFile } from '../../ledger/audit/verify/verify.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import type { ReplicaClient } from '../connect.ts';
import { replicaDrift } from '../replica/migrate-replica.ts';
import { ReplicaError } from '../replica-error.ts';
import { compareLedgers } from './compare-ledgers.ts';
import { rebuildLedger } from './rebuild-ledger.ts';

export interface ReplicaVerifyOrder {
  client: ReplicaClient;
  /** The ledger, read only. */
  connection: LedgerConnection;
  ledgerPath: string;
  /** Our key: what bears its mark must be signed by it. */
  verifier: NoteVerifier | null;
  version: string;
  nowMs: number;
  signal: AbortSignal;
}

export interface ReplicaVerifyReport extends VerifyReport {
  position: number;
  behind: number;
  checkpoints: number;
}

/**
 * Rebuilds the ledger from the replica in a folder beside the ledger, recomputes there everything that `verify` does, and
 * compares the two. The faults say which of both they were found in.
 */
export async function verifyReplica(order: ReplicaVerifyOrder): Promise<ReplicaVerifyReport> {
  const { connection, ledgerPath, verifier } = order;
  const folder = mkdtempSync(`${ledgerPath}.replica-`);
  try {
    const file = join(folder, 'ledger.db');
    const drift = await replicaDrift(order.client);
    if (drift.some((words) => words.startsWith('table'))) {
      throw new ReplicaError('replica_damaged', `the replica cannot be read: ${drift.join('; ')}`, {
        hint: '`usage-ledger publish` mends it, and sends again what is lost',
      });
    }
    const { held, checkpoints } = await rebuildLedger({ ...order, ledgerId: ledgerId(connection), file });
    const notes = checkpoints.flatMap(({ note }) => parseNotes(note) ?? []);
    const anchors = checkpointCheck(notes, verifier);
    const rebuilt = new Database(file, { readonly: true });
    let report: VerifyReport;
    try {
      report = await verifyLedgerFile(rebuilt, [checkMoney, anchors]);
    } finally {
      rebuilt.close();
    }
    const { faults, behind } = compareLedgers(file, ledgerPath, held);
    return {
      ...report,
      faults: [
        ...drift.map((message): Fault => ({ check: 'replica', runId: null, entryId: null, message })),
        ...report.faults.map((fault) => located('in the replica', fault)),
        ...faults,
        ...anchors(connection).map((fault) => located("the replica's checkpoints against the ledger", fault)),
      ],
      ...{ position: held.position, behind, checkpoints: notes.length },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A host that was lost took its key along: what it has signed is compared, and its signature cannot be judged here. */
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

function located(where: string, fault: Fault): Fault {
  return { ...fault, message: `${where}: ${fault.message}` };
}
