import { setMaxListeners } from 'node:events';
import { AppError } from '../core/errors.ts';
import { counted } from '../core/text/words.ts';
import type { Pacer } from '../net/pacer.ts';
import type { PageReceipt } from '../writer/run-commands.ts';
import type { FetchedPage } from './sync-deps.ts';

export interface WalkSource {
  fetchPage(page: number, signal: AbortSignal): Promise<FetchedPage>;
  stagePage(page: number, fetched: FetchedPage): Promise<PageReceipt>;
}

export interface WalkOptions {
  /** The maximum number of concurrent requests. */
  concurrency: number;
  pace: Pacer;
  limits: ListingLimits;
  /**
   * Called before each fetch with the number of staged records and the number of announced records. Returns a promise
   * to await before the fetch, or undefined if there is nothing to wait for.
   */
  room?: (staged: number, announced: number, signal: AbortSignal) => Promise<void> | undefined;
  signal: AbortSignal;
  onPage: (done: number, total: number) => void;
}

/**
 * The maximum number of pages that are fetched but not staged yet. It limits the memory for a listing of any length.
 */
const MAX_UNSTAGED_PAGES = 64;

/**
 * Fetches and stages every page of a listing: first page 1, which announces the number of pages, then the others,
 * several at a time. Pages that were skipped as unchanged are fetched again if another page has changed. Stops early
 * when a page has other totals than page 1, has no new keys, or has fewer records than page 1 without being the last
 * page, because such a walk cannot be accepted. The first failure aborts the other requests and is thrown.
 */
export async function walkPages(source: WalkSource, options: WalkOptions): Promise<void> {
  const { concurrency, pace, limits, onPage } = options;
  const failure = new AbortController();
  const signal = AbortSignal.any([options.signal, failure.signal]);
  // Each concurrent request adds one listener to the signal, and by default Node warns at more than ten listeners.
  setMaxListeners(concurrency, signal);
  const unstaged = new Set<Promise<void>>();
  const waiting: (() => void)[] = [];

  await pace(signal);
  const firstPage = await source.fetchPage(1, signal);
  const first = await source.stagePage(1, firstPage).finally(firstPage.release);
  requirePlausible(first, limits);
  onPage(1, first.totalPages);

  let next = 2;
  let done = 1;
  let records = first.unchanged ? 0 : first.records;
  let moved = false;
  let unchanged = first.unchanged;
  const skipped = unchanged ? [1] : [];
  const stage = (page: number, fetched: FetchedPage): void => {
    const staged = source
      .stagePage(page, fetched)
      .finally(fetched.release)
      .then((receipt) => {
        done += 1;
        if (receipt.unchanged) skipped.push(page);
        else {
          unchanged = false;
          records += receipt.records;
          moved ||= hasMoved(page, receipt, first);
        }
        onPage(done, first.totalPages);
      })
      .catch((error: unknown) => failure.abort(error))
      .finally(() => {
        unstaged.delete(staged);
        waiting.shift()?.();
      });
    unstaged.add(staged);
  };
  const isMore = (): boolean =>
    !moved && !signal.aborted && (next <= first.totalPages || (!unchanged && skipped.length > 0));
  const takePage = (): number => {
    const again = next > first.totalPages ? skipped.pop() : undefined;
    if (again === undefined) next += 1;
    else done -= 1;
    return again ?? next - 1;
  };
  const fetchPages = async (): Promise<void> => {
    while (isMore()) {
      const room = options.room?.(records, first.totalRecords, signal);
      if (room !== undefined) {
        await room;
        // Other fetchers may have taken the last page meanwhile, so the loop checks again.
        continue;
      }
      const page = takePage();
      await pace(signal);
      stage(page, await source.fetchPage(page, signal));
      // If too many pages are not staged yet, waits until one is staged. Each staged page lets one waiting fetcher
      // continue.
      if (unstaged.size >= MAX_UNSTAGED_PAGES) await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  const fetcherCount = Math.min(concurrency, Math.max(0, first.totalPages - 1));
  // Pages are still being staged when the fetchers end. They may show that skipped pages must be fetched again, so the
  // loop checks again.
  while (isMore()) {
    const fetchers = Array.from({ length: fetcherCount }, fetchPages);
    await Promise.all(fetchers.map((running) => running.catch((error: unknown) => failure.abort(error))));
    await Promise.all(unstaged);
  }
  // Throws the first failure. It aborted the other requests, so their errors are only a consequence of it.
  if (failure.signal.aborted && !options.signal.aborted) throw failure.signal.reason;
  options.signal.throwIfAborted();
}

/** Reports whether a page shows that the listing has changed since page 1, or that the service invents pages. */
function hasMoved(
  page: number,
  { totalPages, totalRecords, records, newKeys }: PageReceipt,
  first: PageReceipt,
): boolean {
  if (totalPages !== first.totalPages || totalRecords !== first.totalRecords) return true;
  // Without this check, short pages before the last page could go on for ever and fill the memory.
  if (page < first.totalPages && records < first.records) return true;
  return records > 0 && newKeys === 0;
}

interface ListingLimits {
  maxRecords: number;
  maxPages: number;
}

/**
 * Checks the totals on the first page of a listing before another page is requested. Throws the retryable error
 * `implausible_listing` if the totals contradict the page, and `listing_too_long` if they exceed the limits.
 */
export function requirePlausible(
  first: Pick<PageReceipt, 'records' | 'totalPages' | 'totalRecords'>,
  { maxRecords, maxPages }: ListingLimits,
): void {
  const { records, totalPages, totalRecords } = first;
  const announced = `the service announces ${counted(totalRecords, 'record')} on ${counted(totalPages, 'page')}`;
  if (totalRecords > maxRecords || totalPages > maxPages) {
    const most = totalRecords > maxRecords ? `max_records is ${maxRecords}` : `max_pages is ${maxPages}`;
    throw new AppError('listing_too_long', `${announced}, but ${most}`, {
      hint: 'check with the service operator whether that is right; if so, raise the limit',
    });
  }
  // A service may announce one page or none for an empty listing.
  const expected = records === 0 ? Math.min(totalPages, 1) : Math.ceil(totalRecords / records);
  const empty = records === 0 && totalRecords > 0;
  if (totalPages === expected && !empty) return;
  throw implausibleListingError(`${announced}, but its first page has ${records}`);
}

/** Returns the error for a listing that contradicts itself. */
export function implausibleListingError(message: string): AppError {
  const hint = 'nothing was applied; the slot is tried again. If it persists, report it to the service operator';
  return new AppError('implausible_listing', message, { retryable: true, hint });
}
