import { AppError } from '../core/errors.ts';
import type { UsageItem } from './answers/check-item.ts';
import type { UsagePage } from './answers/check-page.ts';
import type { UsageQuery } from './request-checks.ts';

/** Selects the records to list: those of the whole workspace, or of one tenant. */
export interface UsageListingQuery extends Omit<UsageQuery, 'page'> {
  tenantId?: string | undefined;
  /** If true, every figure is a bigint. Otherwise only figures beyond 2^53-1 are bigints, the others numbers. */
  exact?: boolean | undefined;
}

/** A record with bigint figures of any size. */
export interface ExactUsageItem extends Omit<UsageItem, 'credits_used' | 'request_count'> {
  credits_used: bigint;
  request_count: bigint;
}

/** Iterates over all records of a listing and fetches each page when it is reached. May be iterated more than once. */
export interface UsageListing<Item> extends AsyncIterable<Item> {
  /** Iterates over the pages instead of the records. */
  pages(): AsyncIterable<Omit<UsagePage, 'usage'> & { usage: Item[] }>;
}

export function createListing(exact: true, getPage: GetPage): UsageListing<ExactUsageItem>;
export function createListing(exact: boolean, getPage: GetPage): UsageListing<UsageItem>;
export function createListing(exact: boolean, getPage: GetPage): UsageListing<UsageItem> {
  async function* pages(): AsyncGenerator<UsagePage> {
    for await (const page of readPages(getPage)) yield exact ? toExactPage(page) : page;
  }
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { usage } of pages()) yield* usage;
    },
  };
}

type GetPage = (page: number) => Promise<UsagePage>;

type ListedPage = Pick<UsagePage, 'total_pages' | 'total_records'> & { usage: readonly unknown[] };

/**
 * Reads the pages that `getPage` returns, one after the other, from page 1 to the last. Throws `listing_moved`
 * (retryable) if the totals of a page differ from those of page 1, because records may have been missed or repeated.
 * Also throws it if a page before the last is empty, because a service may announce pages without end.
 */
export async function* readPages<Page extends ListedPage>(
  getPage: (page: number) => Promise<Page>,
): AsyncGenerator<Page> {
  const first = await getPage(1);
  yield first;
  let last = first;
  for (let page = 2; page <= first.total_pages; page += 1) {
    if (last.usage.length === 0) throw listingMovedError(`page ${page - 1} of ${first.total_pages} was empty`);
    last = await getPage(page);
    requireSameTotals(page, first, last);
    yield last;
  }
}

function toExactPage(page: UsagePage): UsagePage {
  const usage = page.usage.map((item) => ({
    ...item,
    credits_used: BigInt(item.credits_used),
    request_count: BigInt(item.request_count),
  }));
  return { ...page, usage };
}

function requireSameTotals(page: number, first: ListedPage, next: ListedPage): void {
  for (const name of ['total_records', 'total_pages'] as const) {
    if (next[name] === first[name]) continue;
    throw listingMovedError(`${name} was ${first[name]} on page 1 and ${next[name]} on page ${page}`);
  }
}

function listingMovedError(sign: string): AppError {
  return new AppError('listing_moved', `the listing changed while it was read: ${sign}`, {
    retryable: true,
    hint: 'start again: records may have been missed or repeated',
  });
}
