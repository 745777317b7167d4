import type { Fault } from '../../ledger/audit/verify/fault.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { wholeTables } from '../send/changed-rows.ts';
import { changeAt, type ReplicaState, readLocal, runIdAt } from '../send/position.ts';
import { replicaFault } from './replica-fault.ts';

/** What only the ledger's machine knows of what it publishes. */
export interface MachineKnowledge {
  epoch: number;
  /** Ids of workspaces that its configuration leaves to others. */
  elsewhere: readonly string[];
}

/**
 * The replica's row of a ledger against what follows from the rows that it holds of it: a mark beyond them skips what comes next.
 * `machine` is null on another machine than the ledger's.
 */
export function checkHolding(rebuilt: LedgerConnection, held: ReplicaState, machine: MachineKnowledge | null): Fault[] {
  const { head, marks, schemaAt, elsewhere } = readLocal(rebuilt, machine?.elsewhere ?? held.elsewhere);
  const whole = Object.fromEntries([...wholeTables(rebuilt)].map(({ rows, digest }) => [rows.mirror.name, digest]));
  // Whoever worked when it was published works no more in a ledger that is rebuilt.
  const { leases: _held, ...heldTables } = held.wholeTables;
  const { leases: _whole, ...tables } = whole;
  const facts: Record<string, [unknown, unknown]> = {
    position: [held.position, head.seq],
    head_digest: [held.headDigest, head.digest],
    head_at: [held.headAt, head.at],
    schema_at: [held.schemaAt, schemaAt],
    last_tenant_key: [held.marks.tenantKey, marks.tenantKey],
    last_entry_id: [held.marks.entryId, marks.entryId],
    last_run_key: [held.marks.runKey, marks.runKey],
    last_change_seq: [held.marks.changeSeq, marks.changeSeq],
    last_event_seq: [held.marks.eventSeq, marks.eventSeq],
    last_adjustment_id: [held.marks.adjustmentId, marks.adjustmentId],
    kept_from_run: [held.marks.keptFromRun, marks.keptFromRun],
    last_run_id: [held.lastRunId, runIdAt(rebuilt, marks.runKey) ?? ''],
    last_change: [held.lastChange, changeAt(rebuilt, marks.changeSeq) ?? ''],
    whole_tables: [sorted(heldTables), sorted(tables)],
    elsewhere: [held.elsewhere, elsewhere],
    ...(machine === null ? {} : { epoch: [held.epoch, machine.epoch] }),
  };
  return Object.entries(facts)
    .map(([column, [said, found]]) => [column, JSON.stringify(said), JSON.stringify(found)] as const)
    .filter(([, said, found]) => said !== found)
    .map(([column, said, found]) =>
      replicaFault(`ledgers (ledger_id ${JSON.stringify(held.ledgerId)}): ${column} is ${said}, and not ${found}`),
    );
}

function sorted(digests: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(digests).sort(([a], [b]) => (a < b ? -1 : 1));
}
