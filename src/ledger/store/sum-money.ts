import type { LedgerDb } from './ledger-db.ts';
import { preparedSql } from './schema/drizzle.ts';

const MAX_SEQ = Number.MAX_SAFE_INTEGER;

/**
 * Returns an SQL condition that is true if the manual line `m` is on the document of its period: the line was in force
 * at the close `seq` or, if `seq` is NULL, is in force now.
 */
export function isOnDocumentSql(seq: string): string {
  return `m.after_seq < coalesce(${seq}, ${MAX_SEQ}) AND coalesce(m.revoked_after_seq, ${MAX_SEQ}) >= coalesce(${seq}, ${MAX_SEQ})`;
}

/**
 * Returns SQL for the corrections and manual lines on the document of a period: `kind`, `tenant_key`, `currency` and
 * `amount_minor`. Currency and amount are NULL for a correction without a price.
 */
export function correctionsAndLinesSql(periodKey: string): string {
  return `SELECT 'correction' AS kind, x.tenant_key, coalesce(k.currency, m.currency) AS currency, x.amount_minor
    FROM charge_corrections x LEFT JOIN rate_cards k USING (card_key) LEFT JOIN manual_lines m ON m.line_id = x.line_id
    WHERE x.booked_period_key = ${periodKey}
    UNION ALL SELECT 'manual', m.tenant_key, m.currency, m.amount_minor
    FROM manual_lines m JOIN periods p USING (period_key)
    WHERE m.period_key = ${periodKey} AND ${isOnDocumentSql('p.closed_seq')}`;
}

export interface MoneySum {
  currency: string;
  amountMinor: bigint;
}

const selectCurrencies = preparedSql(
  'SELECT currency FROM rate_cards UNION SELECT currency FROM manual_lines ORDER BY 1',
  'pluck',
);
const selectSum = preparedSql(
  `WITH cards AS MATERIALIZED (SELECT card_key FROM rate_cards WHERE currency = :currency)
   SELECT (SELECT sum(amount_minor) FROM charges
       WHERE period_key = :key AND (:all OR card_key IN (SELECT card_key FROM cards))) AS charged,
     (SELECT sum(amount_minor) FROM (${correctionsAndLinesSql(':key')}) WHERE currency = :currency) AS booked`,
  'safeIntegers',
);

/**
 * Returns a function that sums the amounts of a period by currency, in the order of the currency codes. Lines without a
 * price are left out. Reads the tables instead of the views, because the views would look up each tenant. If the ledger
 * has only one currency, the rate cards are not read, either.
 */
export function moneySumReader(connection: LedgerDb): (periodKey: number | bigint) => MoneySum[] {
  const currencies = selectCurrencies(connection).all() as string[];
  const sum = selectSum(connection);
  const all = currencies.length === 1 ? 1 : 0;
  return (key) =>
    currencies.flatMap((currency) => {
      const { charged, booked } = sum.get({ currency, key, all }) as Record<'charged' | 'booked', bigint | null>;
      if (charged === null && booked === null) return [];
      return [{ currency, amountMinor: (charged ?? 0n) + (booked ?? 0n) }];
    });
}

/** The total of a month in one currency, and that of the previous month. */
export interface MonthTotals {
  currency: string;
  now: bigint;
  before: bigint;
}

/** Returns the totals of a month and of the previous month by currency, in the order of the currency codes. */
export function monthTotals(connection: LedgerDb, periodKey: number): MonthTotals[] {
  const sumsOf = moneySumReader(connection);
  const [now, before] = [sumsOf(periodKey), sumsOf(periodKey - 1)];
  const of = (sums: typeof now, currency: string) => sums.find((sum) => sum.currency === currency)?.amountMinor ?? 0n;
  const currencies = [...new Set([...now, ...before].map(({ currency }) => currency))].sort();
  return currencies.map((currency) => ({ currency, now: of(now, currency), before: of(before, currency) }));
}
