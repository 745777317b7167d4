import type { LedgerDb } from '../../ledger/store/ledger-db.ts';

/** Reads a tenant's credits in a period as they were after each of the given entries of the ledger. */
export interface Readings {
  exact(periodKey: number, tenantKey: number, entryIds: readonly number[]): bigint[];
  /** Returns the same as numbers, which are rounded above 2^53. */
  numbers(periodKey: number, tenantKey: number, entryIds: readonly number[]): number[];
}

/** Looks up a tenant's recorded credits in the ledger, with one index seek for each requested entry. */
export function createReadings(history: LedgerDb): Readings {
  const credits = history
    .prepare(
      `SELECT coalesce((
         SELECT credits_after FROM usage_entries
         WHERE period_key = @periodKey AND tenant_key = @tenantKey AND entry_id <= each.value
         ORDER BY entry_id DESC LIMIT 1), 0)
       FROM json_each(@entryIds) each ORDER BY each.key`,
    )
    .safeIntegers()
    .pluck();
  const exact: Readings['exact'] = (periodKey, tenantKey, entryIds) =>
    credits.all({ periodKey, tenantKey, entryIds: JSON.stringify(entryIds) }) as bigint[];
  return { exact, numbers: (...asked) => exact(...asked).map(Number) };
}

/** At most this many entries are cached. They take a few hundred megabytes. */
const MAX_KEPT = 5_000_000;

interface Series {
  entryIds: Float64Array;
  credits: BigInt64Array;
  /** The same credits as numbers: reading a bigint costs an allocation. */
  numbers: Float64Array;
}

/** Creates readings that are cached in memory, for a history that does not change while it is replayed. */
export function createCachedReadings(history: LedgerDb): Readings {
  const entries = history
    .prepare(
      `SELECT entry_id, credits_after FROM usage_entries
       WHERE period_key = ? AND tenant_key = ? ORDER BY entry_id`,
    )
    .safeIntegers()
    .raw();
  const tenants = new Map<number, Map<number, Series>>();
  let kept = 0;
  const seriesOf = (periodKey: number, tenantKey: number): Series => {
    const known = tenants.get(tenantKey)?.get(periodKey);
    if (known !== undefined) return known;
    const rows = entries.all(periodKey, tenantKey) as [bigint, bigint][];
    if (kept + rows.length > MAX_KEPT) {
      tenants.clear();
      kept = 0;
    }
    kept += rows.length;
    const series = {
      entryIds: Float64Array.from(rows, ([entryId]) => Number(entryId)),
      credits: BigInt64Array.from(rows, ([, credits]) => credits),
      numbers: Float64Array.from(rows, ([, credits]) => Number(credits)),
    };
    const ofTenant = tenants.get(tenantKey) ?? new Map<number, Series>();
    tenants.set(tenantKey, ofTenant.set(periodKey, series));
    return series;
  };
  return {
    exact(periodKey, tenantKey, asked) {
      const { entryIds, credits } = seriesOf(periodKey, tenantKey);
      return asked.map((entryId) => credits[countUpTo(entryIds, entryId) - 1] ?? 0n);
    },
    numbers(periodKey, tenantKey, asked) {
      const { entryIds, numbers } = seriesOf(periodKey, tenantKey);
      let count = entryIds.length;
      return asked.map((entryId) => {
        // The requested entries follow the order of days, so the search for each entry starts where the last search
        // ended.
        while (count > 0 && (entryIds[count - 1] as number) > entryId) count -= 1;
        while (count < entryIds.length && (entryIds[count] as number) <= entryId) count += 1;
        return count === 0 ? 0 : (numbers[count - 1] as number);
      });
    },
  };
}

/** Counts the numbers that are not above a bound. `ascending` is sorted. */
export function countUpTo(ascending: ArrayLike<number>, bound: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) <= bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
