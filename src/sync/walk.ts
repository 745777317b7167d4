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
  /** Number of requests in flight. */
  concurrency: number;
  pace: Pacer;
  limits: ListingLimits;
  /**
   * Returns a promise to await before fetching more, depending on the staged and announced records; undefined without a
   * wait.
   */
  room?: (staged: number, announced: number, signal: AbortSignal) => Promise<void> | undefined;
  signal: AbortSignal;
  onPage: (done: number, total: number) => void;
}

/** Pages between fetching and staging: bounds memory for any number of records. */
const MAX_UNSTAGED_PAGES = 64;

/**
 * Reads every page of a listing once: page 1 has the number of pages, the rest follow with bounded concurrency. Pages
 * skipped as unchanged are read again when a later one has changed. Stops early when a later page has other totals, is
 * short before the last or has no new keys, because that walk is lost. The first failure aborts the requests in flight
 * and is thrown.
 */
export async function walkPages(source: WalkSource, options: WalkOptions): Promise<void> {
  const { concurrency, pace, limits, onPage } = options;
  const failure = new AbortController();
  const signal = AbortSignal.any([options.signal, failure.signal]);
  // Each lane adds one listener while it waits.
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
  const lane = async (): Promise<void> => {
    while (isMore()) {
      const room = options.room?.(records, first.totalRecords, signal);
      if (room !== undefined) {
        await room;
        // Other lanes have continued meanwhile.
        continue;
      }
      const page = takePage();
      await pace(signal);
      stage(page, await source.fetchPage(page, signal));
      // Each staged page wakes one lane, so that no more lanes wait than there are pages to wake them.
      if (unstaged.size >= MAX_UNSTAGED_PAGES) await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  const laneCount = Math.min(concurrency, Math.max(0, first.totalPages - 1));
  // Pages still being staged when the lanes end may show that skipped pages are needed after all.
  while (isMore()) {
    const lanes = Array.from({ length: laneCount }, lane);
    await Promise.all(lanes.map((running) => running.catch((error: unknown) => failure.abort(error))));
    await Promise.all(unstaged);
  }
  // The first failure wins: errors in other lanes after the abort are only its consequence.
  if (failure.signal.aborted && !options.signal.aborted) throw failure.signal.reason;
  options.signal.throwIfAborted();
}

/** Reports whether a page shows that the listing changed since page 1, or that it never ends. */
function hasMoved(
  page: number,
  { totalPages, totalRecords, records, newKeys }: PageReceipt,
  first: PageReceipt,
): boolean {
  if (totalPages !== first.totalPages || totalRecords !== first.totalRecords) return true;
  // Stops here before a service that announces endless pages fills the memory.
  if (page < first.totalPages && records < first.records) return true;
  return records > 0 && newKeys === 0;
}

interface ListingLimits {
  maxRecords: number;
  maxPages: number;
}

/**
 * Checks the totals on the first page of a listing. Throws `implausible_listing` (retryable) when they contradict the
 * page, and `listing_too_long` when they exceed the limits, before another page is requested.
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
  // An empty listing may have one page or none.
  const expected = records === 0 ? Math.min(totalPages, 1) : Math.ceil(totalRecords / records);
  const empty = records === 0 && totalRecords > 0;
  if (totalPages === expected && !empty) return;
  throw implausibleListing(`${announced}, but its first page has ${records}`);
}

/** Returns the error for a listing that contradicts itself; reading on would find more contradictions. */
export function implausibleListing(message: string): AppError {
  const hint = 'nothing was applied; the slot is tried again. If it persists, report it to the service operator';
  return new AppError('implausible_listing', message, { retryable: true, hint });
}
