import type { LedgerDb } from './ledger-db.ts';

const NOT_YET = Number.MAX_SAFE_INTEGER;

/**
 * In SQL, whether the document of a period has the line by hand `m`: it was in force at the close `seq`, or while `seq` is NULL it
 * is.
 */
export function isStatedSql(seq: string): string {
  return `m.after_seq < coalesce(${seq}, ${NOT_YET}) AND coalesce(m.revoked_after_seq, ${NOT_YET}) >= coalesce(${seq}, ${NOT_YET})`;
}

/**
 * In SQL, what the document of a period has beside the charges of its own credits: `kind`, `tenant_key`, `currency` and
 * `amount_minor` of each correction and of each line by hand. Both are NULL of a correction without a price.
 */
export function bookedSql(periodKey: string): string {
  return `SELECT 'correction' AS kind, x.tenant_key, coalesce(k.currency, m.currency) AS currency, x.amount_minor
    FROM charge_corrections x LEFT JOIN rate_cards k USING (card_key) LEFT JOIN manual_lines m ON m.line_id = x.line_id
    WHERE x.booked_period_key = ${periodKey}
    UNION ALL SELECT 'manual', m.tenant_key, m.currency, m.amount_minor
    FROM manual_lines m JOIN periods p USING (period_key)
    WHERE m.period_key = ${periodKey} AND ${isStatedSql('p.closed_seq')}`;
}

export interface MoneySum {
  currency: string;
  amountMinor: bigint;
}

/**
 * Gives what the lines of a period sum to, by currency in the order of their codes; what cannot be priced is in no sum. By the
 * tables: the views would name each tenant. With one currency nothing is looked up but the amounts.
 */
export function moneySums(connection: LedgerDb): (periodKey: number | bigint) => MoneySum[] {
  const currencies = connection
    .prepare('SELECT currency FROM rate_cards UNION SELECT currency FROM manual_lines ORDER BY 1')
    .pluck()
    .all() as string[];
  const sum = connection
    .prepare(
      `WITH cards AS MATERIALIZED (SELECT card_key FROM rate_cards WHERE currency = :currency)
       SELECT (SELECT sum(amount_minor) FROM charges
           WHERE period_key = :key AND (:all OR card_key IN (SELECT card_key FROM cards))) AS charged,
         (SELECT sum(amount_minor) FROM (${bookedSql(':key')}) WHERE currency = :currency) AS booked`,
    )
    .safeIntegers();
  const all = currencies.length === 1 ? 1 : 0;
  return (key) =>
    currencies.flatMap((currency) => {
      const { charged, booked } = sum.get({ currency, key, all }) as Record<'charged' | 'booked', bigint | null>;
      if (charged === null && booked === null) return [];
      return [{ currency, amountMinor: (charged ?? 0n) + (booked ?? 0n) }];
    });
}

/** What a month comes to in a currency, and what the one before it did. */
export interface MoneyOfMonths {
  currency: string;
  now: bigint;
  before: bigint;
}

/** By currency in the order of their codes; a workspace's months have keys in a row. */
export function moneyOfMonths(connection: LedgerDb, periodKey: number): MoneyOfMonths[] {
  const sumsOf = moneySums(connection);
  const [now, before] = [sumsOf(periodKey), sumsOf(periodKey - 1)];
  const of = (sums: typeof now, currency: string) => sums.find((sum) => sum.currency === currency)?.amountMinor ?? 0n;
  const currencies = [...new Set([...now, ...before].map(({ currency }) => currency))].sort();
  return currencies.map((currency) => ({ currency, now: of(now, currency), before: of(before, currency) }));
}
