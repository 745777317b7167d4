import type { LedgerConnection } from '../file/open.ts';

/** The id that every copy of this ledger has. */
export function ledgerId(connection: LedgerConnection): string {
  const id = connection.prepare("SELECT value FROM ledger_meta WHERE name = 'ledger_id'").pluck().get();
  if (typeof id !== 'string') throw new Error('the ledger has no id');
  return id;
}

const REPLICA_EPOCH = 'replica_epoch';
const QUEUE_IN_USE = 'queue_in_use';

/** In SQL, the values of `ledger_meta` that each copy of a ledger has for itself: no other copy gets them. */
export const OWN_VALUES = `('${REPLICA_EPOCH}', '${QUEUE_IN_USE}')`;

/** Which copy of the ledger this is, counted by the replica: one with a lower number than the replica's is out. */
export function replicaEpoch(connection: LedgerConnection): number {
  const value = connection.prepare('SELECT value FROM ledger_meta WHERE name = ?').pluck().get(REPLICA_EPOCH);
  return value === undefined ? 0 : Number(value);
}

export function setReplicaEpoch(connection: LedgerConnection, epoch: number): void {
  connection
    .prepare(
      'INSERT INTO ledger_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    )
    .run(REPLICA_EPOCH, String(epoch));
}

/** The same beside a daemon that may run: it goes on with the queues that it has, and `queueInUse` finds them. */
export function changeReplicaEpoch(connection: LedgerConnection, epoch: number): void {
  connection
    .transaction(() => {
      connection
        .prepare('INSERT INTO ledger_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING')
        .run(QUEUE_IN_USE, queueId(connection));
      setReplicaEpoch(connection, epoch);
    })
    .immediate();
}

/** For a daemon that starts: it takes its queues by the number of its copy. */
export function forgetQueueInUse(connection: LedgerConnection): void {
  connection.prepare('DELETE FROM ledger_meta WHERE name = ?').run(QUEUE_IN_USE);
}

/** Names the queues of the daemon that has started last. */
export function queueInUse(connection: LedgerConnection): string {
  const value = connection.prepare('SELECT value FROM ledger_meta WHERE name = ?').pluck().get(QUEUE_IN_USE);
  return typeof value === 'string' ? value : queueId(connection);
}

/**
 * Names the queues of this copy of the ledger. One that has taken another's place shares no job with it, should both run on
 * one Redis: neither does what the other has enqueued.
 */
export function queueId(connection: LedgerConnection): string {
  const epoch = replicaEpoch(connection);
  return epoch === 0 ? ledgerId(connection) : `${ledgerId(connection)}-${epoch}`;
}
