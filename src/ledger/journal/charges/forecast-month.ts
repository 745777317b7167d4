import { type Period, periodEndMs, periodStartMs } from '../../../core/period.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { chargeCorrections, rateCards } from '../../store/schema/billing-tables.ts';
import { and, eq, isNotNull } from '../../store/schema/drizzle.ts';
import { creditPricer } from './credit-pricer.ts';

/** What an open month comes to when all go on as so far. */
export interface MonthForecast {
  credits: bigint;
  /** By currency, in the order of their codes: each tenant's projected credits by its card, and the corrections that are booked. */
  money: { currency: string; amountMinor: bigint }[];
}

const DAY_MS = 86_400_000;

/**
 * Projects each tenant as `finance_month_to_date` does, in a straight line from what was read last, and prices it by the tiers of
 * its card, which no line can say. Null before a day of the month was read, and once it was read to its end.
 */
export function forecastMonth(
  connection: LedgerConnection,
  { workspaceId, period, periodKey, asOf }: { workspaceId: string; period: Period; periodKey: bigint; asOf: string },
): MonthForecast | null {
  const elapsedMs = Date.parse(asOf) - periodStartMs(period);
  const lengthMs = periodEndMs(period) - periodStartMs(period);
  if (elapsedMs < DAY_MS || elapsedMs >= lengthMs) return null;
  const priceOf = creditPricer(connection, workspaceId);
  const money = new Map<string, bigint>();
  const add = (currency: string, amountMinor: bigint): void =>
    void money.set(currency, (money.get(currency) ?? 0n) + amountMinor);
  let credits = 0n;
  const rows = connection
    .prepare(
      `SELECT t.tenant_id, CAST(round(u.credits_used * (1.0 * ? / ?)) AS INTEGER)
       FROM tenant_usage u JOIN tenants t ON t.tenant_key = u.tenant_key WHERE u.period_key = ? AND u.withdrawn = 0`,
    )
    .safeIntegers()
    .raw()
    .iterate(lengthMs / 1000, elapsedMs / 1000, periodKey) as IterableIterator<[tenantId: string, projected: bigint]>;
  for (const [tenantId, projected] of rows) {
    credits += projected;
    const priced = priceOf(tenantId, period, projected);
    if (priced !== null) add(priced.currency, priced.amountMinor);
  }
  const { amountMinor, bookedPeriodKey, cardKey } = chargeCorrections;
  const corrections = query(connection)
    .select({ currency: rateCards.currency, amountMinor })
    .from(chargeCorrections)
    .innerJoin(rateCards, eq(rateCards.cardKey, cardKey))
    .where(and(eq(bookedPeriodKey, Number(periodKey)), isNotNull(amountMinor)));
  for (const correction of corrections.all()) add(correction.currency, correction.amountMinor ?? 0n);
  return {
    credits,
    money: [...money]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([currency, amountMinor]) => ({ currency, amountMinor })),
  };
}
