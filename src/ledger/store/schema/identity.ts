import type { LedgerDb } from '../ledger-db.ts';
import { eq, query } from './drizzle.ts';
import { ledgerMeta } from './workspace-tables.ts';

/** Returns the id of the ledger. Its copies have the same id, except a copy that was made a separate ledger. */
export function ledgerId(connection: LedgerDb): string {
  const id = readMeta(connection, 'ledger_id');
  if (id === undefined) throw new Error('the ledger has no id');
  return id;
}

export function readMeta(connection: LedgerDb, name: string): string | undefined {
  return query(connection).select().from(ledgerMeta).where(eq(ledgerMeta.name, name)).get()?.value;
}

export function writeMeta(connection: LedgerDb, name: string, value: string): void {
  const kept = query(connection).insert(ledgerMeta).values({ name, value });
  kept.onConflictDoUpdate({ target: ledgerMeta.name, set: { value } }).run();
}
