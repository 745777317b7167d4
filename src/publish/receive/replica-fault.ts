import type { Fault } from '../../ledger/audit/verify/fault.ts';

/** What the replica has otherwise than the ledger. */
export function replicaFault(message: string): Fault {
  return { check: 'replica', runId: null, entryId: null, message };
}
