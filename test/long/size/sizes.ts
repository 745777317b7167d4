import type { LedgerSize } from '../../support/large-ledger.ts';

/** 100,000 tenants in 200 workspaces, with three years of months and 300 open alerts. */
export const MANY_WORKSPACES: LedgerSize = scaled({
  workspaces: 200,
  tenantsEach: 500,
  months: 36,
  closedMonths: 2,
  jumps: 300,
});

/** A million records in a few workspaces. */
export const MANY_RECORDS: LedgerSize = scaled({
  workspaces: 4,
  tenantsEach: 6950,
  months: 36,
  closedMonths: 1,
  jumps: 40,
});

/** The bars, on two cores. */
export const MAX_PAGE_MS = 150;
export const MAX_PAGE_BYTES = 100_000;
export const MAX_LIST_MS = 50;
export const MAX_BLOCKED_MS = 50;
/** A sync beside requests over the same sync without any. */
export const MAX_SLOWDOWN = 1.3;

/** Divides the tenants by `SIZE_DIVISOR`, for a look at the tests themselves. */
function scaled(size: LedgerSize): LedgerSize {
  return { ...size, tenantsEach: Math.ceil(size.tenantsEach / Number(process.env.SIZE_DIVISOR ?? 1)) };
}
