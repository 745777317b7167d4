import { createHash } from 'node:crypto';
import { parseExact, stringifyExact } from '../../core/text/exact-json.ts';
import type { RowKey } from '../../operations/operation.ts';
import { ApiError } from './problem.ts';

/**
 * The listing that a cursor belongs to. A cursor cannot be used with another ledger, operation or filter, because the
 * rows differ.
 */
export interface CursorPlace {
  ledgerId: string;
  operation: string;
  input: object;
}

const VERSION = 1;
const MAX_CURSOR_LENGTH = 8192;

/**
 * Returns the cursor: an opaque text that continues a listing after the row with this key. A cursor stays valid while
 * the ledger grows.
 */
export function encodeCursor(place: CursorPlace, key: RowKey): string {
  return Buffer.from(stringifyExact([VERSION, ...marksOf(place), key])).toString('base64url');
}

/** Returns the row key in a cursor. Throws `bad_cursor` if the cursor does not belong to this listing. */
export function decodeCursor(place: CursorPlace, cursor: string): RowKey {
  const [ledger, listing] = marksOf(place);
  const [version, ofLedger, ofListing, key] = parsed(cursor);
  if (version !== BigInt(VERSION) || !isKey(key)) throw refusedCursor('is not a cursor of this API');
  if (ofLedger !== ledger) throw refusedCursor('belongs to another ledger');
  if (ofListing !== listing) throw refusedCursor('belongs to another path or other filters');
  return key;
}

function marksOf({ ledgerId, operation, input }: CursorPlace): [ledger: string, listing: string] {
  return [mark(ledgerId), mark(stringifyExact([operation, input]))];
}

function mark(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 12);
}

function parsed(cursor: string): unknown[] {
  try {
    if (cursor.length > MAX_CURSOR_LENGTH) return [];
    const found = parseExact(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

function isKey(value: unknown): value is RowKey {
  return (
    Array.isArray(value) &&
    value.every((part) => part === null || typeof part === 'string' || typeof part === 'number' || isInt64(part))
  );
}

function isInt64(value: unknown): boolean {
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
}

function refusedCursor(why: string): ApiError {
  return new ApiError(400, 'bad_cursor', `cursor ${why}`, { hint: 'start again without a cursor' });
}
