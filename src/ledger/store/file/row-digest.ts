import { createHash } from 'node:crypto';
import type { LedgerDb } from '../ledger-db.ts';

/** Returns the SHA-256 over the guarded columns of a row, see schema/guards.ts. */
export function rowDigest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Registers the function that the guards' triggers call. Without it, guarded rows cannot be written. */
export function addRowDigest(connection: LedgerDb): void {
  connection.function('row_digest', { deterministic: true }, (text) => rowDigest(String(text)));
}
