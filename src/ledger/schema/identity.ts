import type { LedgerConnection } from '../file/open.ts';

/** The id that names this ledger's queues. */
export function ledgerId(connection: LedgerConnection): string {
  const id = connection.prepare("SELECT value FROM ledger_meta WHERE name = 'ledger_id'").pluck().get();
  if (typeof id !== 'string') throw new Error('the ledger has no id');
  return id;
}
