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

/** In SQL, the values of `ledger_meta` that each copy of a ledger has for itself: no other copy gets them. */
export const OWN_VALUES = `('${REPLICA_EPOCH}')`;

/** Which copy of the ledger this is, counted by the replica: one with a lower number than the replica's is out. */
export function replicaEpoch(connection: LedgerConnection): number {
  return Number(readMeta(connection, REPLICA_EPOCH) ?? 0);
}

export function setReplicaEpoch(connection: LedgerConnection, epoch: number): void {
  writeMeta(connection, REPLICA_EPOCH, String(epoch));
}
