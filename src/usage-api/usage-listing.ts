import { AppError } from '../core/errors.ts';
import type { UsageItem } from './answers/check-item.ts';
import type { UsagePage } from './answers/check-page.ts';
import type { UsageQuery } from './request-checks.ts';

/** The records to list: all of the workspace, or those of one tenant. */
export interface UsageListingQuery extends Omit<UsageQuery, 'page'> {
  tenantId?: string | undefined;
  /** True: every figure is a bigint. Otherwise figures are numbers, and bigints only beyond 2^53-1. */
  exact?: boolean | undefined;
}

/** A record with bigint figures of any size. */
export interface ExactUsageItem extends Omit<UsageItem, 'credits_used' | 'request_count'> {
  credits_used: bigint;
  request_count: bigint;
}

/**
 * An iterator over all records of a listing, which fetches each page when it is reached. May be iterated more than
 * once.
 */
export interface UsageListing<Item> extends AsyncIterable<Item> {
  pages(): AsyncIterable<Omit<UsagePage, 'usage'> & { usage: Item[] }>;
}

/**
 * Lists the pages that `getPage` returns, from page 1 to the last. Throws `listing_moved` (retryable) if the totals of
 * a page differ from those of the first: records may have been missed or repeated.
 */
export function createListing(exact: true, getPage: GetPage): UsageListing<ExactUsageItem>;
export function createListing(exact: boolean, getPage: GetPage): UsageListing<UsageItem>;
export function createListing(exact: boolean, getPage: GetPage): UsageListing<UsageItem> {
  async function* pages(): AsyncGenerator<UsagePage> {
    const first = await getPage(1);
    yield exact ? toExactPage(first) : first;
    for (let page = 2; page <= first.total_pages; page += 1) {
      const next = await getPage(page);
      if (next.total_pages !== first.total_pages || next.total_records !== first.total_records)
        throw listingMovedError(page, first, next);
      yield exact ? toExactPage(next) : next;
    }
  }
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { usage } of pages()) yield* usage;
    },
  };
}

type GetPage = (page: number) => Promise<UsagePage>;

function toExactPage(page: UsagePage): UsagePage {
  const usage = page.usage.map((item) => ({
    ...item,
    credits_used: BigInt(item.credits_used),
    request_count: BigInt(item.request_count),
  }));
  return { ...page, usage };
}

function listingMovedError(page: number, first: UsagePage, next: UsagePage): AppError {
  const [name, from, to] =
    next.total_records === first.total_records
      ? ['total_pages', first.total_pages, next.total_pages]
      : ['total_records', first.total_records, next.total_records];
  const message = `the listing changed while it was read: ${name} was ${from} on page 1 and ${to} on page ${page}`;
  return new AppError('listing_moved', message, {
    retryable: true,
    hint: 'start again: records may have been missed or repeated',
  });
}
