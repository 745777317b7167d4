import { createHash } from 'node:crypto';
import type { LedgerDb } from '../ledger-db.ts';

/** Returns the SHA-256 over the guarded columns of a row, see schema/guards.ts. */
export function rowDigest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Registers the SQL function `row_digest`, which triggers call on each write to a guarded table. A connection without
 * the function cannot write such tables.
 */
export function registerRowDigest(connection: LedgerDb): void {
  connection.function('row_digest', { deterministic: true }, (text) => rowDigest(String(text)));
}
