import type { LedgerConnection } from '../file/open.ts';
import { query } from '../query.ts';
import { eq } from './drizzle.ts';
import { ledgerMeta } from './workspace-tables.ts';

/** The id that every copy of this ledger has, but one that was made to be a ledger of its own. */
export function ledgerId(connection: LedgerConnection): string {
  const id = readMeta(connection, 'ledger_id');
  if (id === undefined) throw new Error('the ledger has no id');
  return id;
}

export function readMeta(connection: LedgerConnection, name: string): string | undefined {
  return query(connection).select().from(ledgerMeta).where(eq(ledgerMeta.name, name)).get()?.value;
}

export function writeMeta(connection: LedgerConnection, name: string, value: string): void {
  const kept = query(connection).insert(ledgerMeta).values({ name, value });
  kept.onConflictDoUpdate({ target: ledgerMeta.name, set: { value } }).run();
}

const REPLICA_EPOCH = 'replica_epoch';
const QUEUE_IN_USE = 'queue_in_use';

/** In SQL, the values of `ledger_meta` that each copy of a ledger has for itself: no other copy gets them. */
export const OWN_VALUES = `('${REPLICA_EPOCH}', '${QUEUE_IN_USE}')`;

/** Which copy of the ledger this is, counted by the replica: one with a lower number than the replica's is out. */
export function replicaEpoch(connection: LedgerConnection): number {
  return Number(readMeta(connection, REPLICA_EPOCH) ?? 0);
}

export function setReplicaEpoch(connection: LedgerConnection, epoch: number): void {
  writeMeta(connection, REPLICA_EPOCH, String(epoch));
}

/** The same beside a daemon that may run: it goes on with the queues that it has, and `queueInUse` finds them. */
export function changeReplicaEpoch(connection: LedgerConnection, epoch: number): void {
  connection
    .transaction(() => {
      const inUse = { name: QUEUE_IN_USE, value: queueId(connection) };
      query(connection).insert(ledgerMeta).values(inUse).onConflictDoNothing().run();
      setReplicaEpoch(connection, epoch);
    })
    .immediate();
}

/** For a daemon that starts: it takes its queues by the number of its copy. */
export function forgetQueueInUse(connection: LedgerConnection): void {
  query(connection).delete(ledgerMeta).where(eq(ledgerMeta.name, QUEUE_IN_USE)).run();
}

/** Names the queues of the daemon that has started last. */
export function queueInUse(connection: LedgerConnection): string {
  return readMeta(connection, QUEUE_IN_USE) ?? queueId(connection);
}

/**
 * Names the queues of this copy of the ledger. One that has taken another's place shares no job with it, should both run on
 * one Redis: neither does what the other has enqueued.
 */
export function queueId(connection: LedgerConnection): string {
  const epoch = replicaEpoch(connection);
  return epoch === 0 ? ledgerId(connection) : `${ledgerId(connection)}-${epoch}`;
}
