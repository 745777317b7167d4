import type { LedgerConnection } from './file/open.ts';
import { rateCards } from './schema/billing-tables.ts';
import { asc, query } from './schema/drizzle.ts';

export interface MoneySum {
  currency: string;
  amountMinor: bigint;
}

/**
 * Gives what the lines of a period sum to, by currency in the order of their codes; what cannot be priced is in no sum. By the
 * tables: the views would name each tenant. With one currency nothing is looked up but the amounts.
 */
export function moneySums(connection: LedgerConnection): (periodKey: number | bigint) => MoneySum[] {
  const { currency: name } = rateCards;
  const currencies = query(connection).selectDistinct({ name }).from(rateCards).orderBy(asc(name)).all();
  const sumOf = (place: string): string =>
    `SELECT sum(amount_minor) FROM ${place} = :key AND (:all OR card_key IN (SELECT card_key FROM cards))`;
  const sum = connection
    .prepare(
      `WITH cards AS MATERIALIZED (SELECT card_key FROM rate_cards WHERE currency = :currency)
       SELECT (${sumOf('charges WHERE period_key')}) AS charged, (${sumOf('charge_corrections WHERE booked_period_key')}) AS corrected`,
    )
    .safeIntegers();
  const all = currencies.length === 1 ? 1 : 0;
  return (key) =>
    currencies.flatMap(({ name: currency }) => {
      const { charged, corrected } = sum.get({ currency, key, all }) as Record<Sum, bigint | null>;
      if (charged === null && corrected === null) return [];
      return [{ currency, amountMinor: (charged ?? 0n) + (corrected ?? 0n) }];
    });
}

type Sum = 'charged' | 'corrected';

/** What a month comes to in a currency, and what the one before it did. */
export interface MoneyOfMonths {
  currency: string;
  now: bigint;
  before: bigint;
}

/** By currency in the order of their codes; a workspace's months have keys in a row. */
export function moneyOfMonths(connection: LedgerConnection, periodKey: number): MoneyOfMonths[] {
  const sumsOf = moneySums(connection);
  const [now, before] = [sumsOf(periodKey), sumsOf(periodKey - 1)];
  const of = (sums: typeof now, currency: string) => sums.find((sum) => sum.currency === currency)?.amountMinor ?? 0n;
  const currencies = [...new Set([...now, ...before].map(({ currency }) => currency))].sort();
  return currencies.map((currency) => ({ currency, now: of(now, currency), before: of(before, currency) }));
}
