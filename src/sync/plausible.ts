import { AppError } from '../core/errors.ts';
import { counted } from '../core/text/counted.ts';
import type { PageReceipt } from '../writer/commands/run-commands.ts';

/** How long a listing may be. */
export interface ListingLimits {
  maxRecords: number;
  maxPages: number;
}

/**
 * Looks at what the first page of a listing announces and refuses what cannot be true, or is longer than allowed, before
 * anything more is asked for. Throws `implausible_listing` (retryable) or `listing_too_long`.
 */
export function requirePlausible(first: Omit<PageReceipt, 'newKeys'>, { maxRecords, maxPages }: ListingLimits): void {
  const { records, totalPages, totalRecords } = first;
  const announced = `the service announces ${counted(totalRecords, 'record')} on ${counted(totalPages, 'page')}`;
  if (totalRecords > maxRecords || totalPages > maxPages) {
    const most = totalRecords > maxRecords ? `max_records is ${maxRecords}` : `max_pages is ${maxPages}`;
    throw new AppError('listing_too_long', `${announced}, and ${most}`, {
      hint: 'ask the service whether that can be; if it can, raise the limit',
    });
  }
  // An empty listing may have one page or none.
  const expected = records === 0 ? Math.min(totalPages, 1) : Math.ceil(totalRecords / records);
  const empty = records === 0 && totalRecords > 0;
  if (totalPages === expected && !empty) return;
  throw implausible(`${announced}, but its first page holds ${records}`);
}

/** A listing that contradicts itself; reading on would show nothing but more of the same. */
export function implausible(message: string): AppError {
  const hint = 'nothing was applied, the slot is tried again; if it persists, tell the service';
  return new AppError('implausible_listing', message, { retryable: true, hint });
}
