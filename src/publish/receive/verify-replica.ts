import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { originOf } from '../../ledger/audit/anchor/checkpoint.ts';
import { isSignedBy, type NoteVerifier, parseNotes } from '../../ledger/audit/anchor/signed-note.ts';
import type { Fault } from '../../ledger/audit/verify/fault.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { inWorkFolder } from '../../ledger/store/file/work-folder.ts';
import { ledgerId, replicaEpoch } from '../../ledger/store/schema/identity.ts';
import type { ReplicaClient } from '../connect.ts';
import { replicaDrift } from '../replica/migrate-replica.ts';
import { MIRRORS } from '../replica/mirrors.ts';
import { ReplicaError } from '../replica-error.ts';
import { type PublishedCheckpoint, recentCheckpoints } from '../send/recent-checkpoints.ts';
import { compareLedgers } from './compare-ledgers.ts';
import { replicaFault } from './replica-fault.ts';
import { type HeldOrder, type HeldReport, verifyHeld } from './verify-held.ts';

export interface ReplicaVerifyOrder {
  client: ReplicaClient;
  /** The ledger, read only. */
  connection: LedgerConnection;
  ledgerPath: string;
  /** Ids of workspaces that the configuration leaves to other machines. */
  elsewhere: readonly string[];
  /** Our key: what bears its mark must be signed by it. */
  verifier: NoteVerifier | null;
  /** The keys of other machines. */
  others: readonly NoteVerifier[];
  version: string;
  nowMs: number;
  signal: AbortSignal;
}

export interface ReplicaVerifyReport extends Omit<HeldReport, 'held' | 'checkpoints' | 'left' | 'anchors'> {
  position: number;
  behind: number;
  checkpoints: number;
  /** What only the machines of other ledgers can prove, and nothing that is known here: a sentence each. */
  unproven: string[];
}

/**
 * Rebuilds each ledger of the replica in a folder beside the ledger and recomputes there everything that `verify` does; compares
 * the one at hand row by row, and holds the others against the checkpoints that their machines have signed. The faults say where they were
 * found.
 */
export async function verifyReplica(order: ReplicaVerifyOrder): Promise<ReplicaVerifyReport> {
  const { client, connection, ledgerPath } = order;
  return inWorkFolder(`${ledgerPath}.replica-`, async (folder) => {
    const drift = await replicaDrift(client);
    if (drift.some((words) => /^table \w+ (is |has no |has another key)/.test(words))) {
      throw new ReplicaError('replica_damaged', `the replica cannot be read: ${drift.join('; ')}`, {
        hint: '`usage-ledger publish` mends it, and sends again what is lost',
      });
    }
    const id = ledgerId(connection);
    const file = join(folder, 'ledger.db');
    const machine = { epoch: replicaEpoch(connection), elsewhere: order.elsewhere };
    const own = await verifyHeld({ ...order, ledgerId: id, file, machine });
    const { held, anchors } = own;
    const compared = held === null ? { faults: [], behind: 0 } : compareLedgers(file, ledgerPath, held);
    const position = held?.position ?? 0;
    const lost = lostCheckpoints(recentCheckpoints(ledgerPath, id), own.checkpoints, position);
    const others = await verifyOthers(order, folder, id);
    return {
      ...own,
      faults: [
        ...drift.map(replicaFault),
        ...own.faults.map((fault) => located('in the replica', fault)),
        ...compared.faults,
        ...(held === null ? [] : lost),
        ...anchors(connection).map((fault) => located("the replica's checkpoints against the ledger", fault)),
        ...others.faults,
        ...(await ownerlessRows(client)),
      ],
      ...{ position, behind: compared.behind, checkpoints: own.checkpoints.length, unproven: others.unproven },
    };
  });
}

/** What lies beside the ledger and is missing or another one in the replica. */
function lostCheckpoints(
  here: readonly PublishedCheckpoint[],
  there: readonly PublishedCheckpoint[],
  position: number,
): Fault[] {
  const notes = new Map(there.map(({ seq, note }) => [seq, note]));
  return here
    .filter(({ seq, note }) => seq <= position && notes.get(seq) !== note)
    .map(({ seq }) =>
      replicaFault(`checkpoints (seq ${seq}): ${notes.has(seq) ? 'another one' : 'missing'}; checkpoints.log has it`),
    );
}

/** The ledgers of other machines, of which only the replica and the checkpoints that they have signed are at hand. */
async function verifyOthers(
  order: ReplicaVerifyOrder,
  folder: string,
  own: string,
): Promise<{ faults: Fault[]; unproven: string[] }> {
  const ledgers = await order.client.query<{ ledger_id: string }>(
    "SELECT ledger_id FROM ledgers WHERE ledger_id <> $1 AND published_at <> '' ORDER BY ledger_key",
    [own],
  );
  const faults: Fault[] = [];
  const unproven: string[] = [];
  for (const [index, { ledger_id: id }] of ledgers.entries()) {
    const verifier = order.others.find(({ name }) => name === originOf(id)) ?? null;
    const file = join(folder, `other-${index}.db`);
    try {
      const report = await verifyHeld({ ...order, ledgerId: id, file, verifier, machine: null } satisfies HeldOrder);
      const found = verifier === null ? report.faults : [...report.faults, ...unsigned(report, verifier)];
      faults.push(...found.map((fault) => located(`in the replica, ledger ${id}`, fault)));
      if (verifier === null) {
        unproven.push(`ledger ${id}: nobody here knows its key, so anybody may have made it up: give --checkpoint-key`);
      }
      if (report.left.length > 0) {
        const names = report.left.map((name) => JSON.stringify(name)).join(', ');
        unproven.push(
          `ledger ${id}: that it leaves ${names} to others, only its row of \`ledgers\` says: ask by \`verify --replica\` on its machine`,
        );
      }
    } catch (error) {
      if (!(error instanceof ReplicaError) || error.code !== 'replica_other_schema') throw error;
      unproven.push(`ledger ${id}: ${error.message}, and was not checked`);
    } finally {
      rmSync(file, { force: true });
    }
  }
  return { faults, unproven };
}

/** A ledger of another machine stands as far as that machine has signed for it. */
function unsigned({ held, checkpoints }: HeldReport, verifier: NoteVerifier): Fault[] {
  const signed = checkpoints.filter(({ note }) => (parseNotes(note) ?? []).some((one) => isSignedBy(one, verifier)));
  const last = signed.at(-1)?.seq ?? 0;
  const position = held?.position ?? 0;
  if (last >= position) return [];
  return [replicaFault(`nobody with the key ${verifier.name} has signed links ${last + 1} to ${position}`)];
}

/** Rows of a key that no ledger of the replica has. */
async function ownerlessRows(client: ReplicaClient): Promise<Fault[]> {
  const tables = new Map<bigint, string[]>();
  for (const name of [...MIRRORS.map((mirror) => mirror.name), 'checkpoints']) {
    const rows = await client.query<{ ledger_key: bigint }>(
      `SELECT DISTINCT ledger_key FROM ${name} WHERE ledger_key <> ALL (SELECT ledger_key FROM ledgers)`,
    );
    for (const { ledger_key: key } of rows) tables.set(key, [...(tables.get(key) ?? []), name]);
  }
  return [...tables].map(([key, names]) =>
    replicaFault(
      `${names.join(', ')} (ledger_key ${key}): rows of no ledger of \`ledgers\`; their own ledger's next publish takes them back`,
    ),
  );
}

function located(where: string, fault: Fault): Fault {
  return { ...fault, message: `${where}: ${fault.message}` };
}
