import { PeriodPricer, type PricedUsage } from '../../../billing/rates/period-pricer.ts';
import { type BilledLine, isPeriodCharge, type Money, MoneySums } from '../../../billing/statement/billed.ts';
import { DAY_MS } from '../../../core/durations.ts';
import { once, oncePerKey } from '../../../core/one-at-a-time.ts';
import { type Period, periodEndMs, periodStartMs } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { findPeriodOf } from '../../store/subjects.ts';
import { correctionsAndLinesSql } from '../../store/sum-money.ts';
import { cardsAt, cardsInForce, hasCards, type StoredCard } from './card-store.ts';

/** Returns the price of a tenant's credits and requests in a period, in minor units; null when they have no price. */
export type CreditPricer = (
  tenantId: string,
  period: Period,
  credits: bigint,
  requests?: bigint,
) => { currency: string; amountMinor: bigint } | null;

/**
 * Returns a pricer that uses the cards in force and, for a closed period, the cards of its close. Reads no card before
 * the first call.
 */
export function creditPricer(connection: LedgerDb, workspaceId: string): CreditPricer {
  return pricedBy(connection, (period) => pricerOfPeriod(connection, workspaceId, period));
}

/**
 * Returns a function that returns the pricer of a workspace, see `creditPricer`. All pricers share the cards in force,
 * which are read once.
 */
export function creditPricers(connection: LedgerDb): (workspaceId: string) => CreditPricer {
  const inForce = once(() => cardsInForce(connection));
  return oncePerKey((workspaceId) =>
    pricedBy(connection, (period) => pricerOfPeriod(connection, workspaceId, period, inForce)),
  );
}

/** Returns a function that computes what the provider charges for usage, by the cost cards in force. */
export function costPricer(connection: LedgerDb, workspaceId: string): CreditPricer {
  let cards: StoredCard[] | null = null;
  return pricedBy(connection, (period) => {
    cards ??= cardsInForce(connection, 'cost');
    return new PeriodPricer(cards, workspaceId, period);
  });
}

function pricedBy(connection: LedgerDb, pricerOf: (period: Period) => PeriodPricer<StoredCard>): CreditPricer {
  let isPriced: boolean | null = null;
  const pricers = oncePerKey(pricerOf);
  return (tenantId, period, credits, requests = 0n) => {
    isPriced ??= hasCards(connection);
    if (!isPriced) return null;
    const priced = pricers(period).price(tenantId, { credits, requests }, true);
    if (priced === null || priced.charge === null) return null;
    return { currency: priced.card.currency, amountMinor: priced.charge.amountMinor };
  };
}

/**
 * Returns the pricer of a period: it uses the cards of the period's close or, while the period is open, the cards in
 * force.
 */
export function pricerOfPeriod(
  connection: LedgerDb,
  workspaceId: string,
  period: Period,
  inForce: () => readonly StoredCard[] = () => cardsInForce(connection),
): PeriodPricer<StoredCard> {
  const closedSeq = findPeriodOf(connection, workspaceId, period)?.closedSeq ?? null;
  const cards = closedSeq === null ? inForce() : cardsAt(connection, closedSeq);
  return new PeriodPricer(cards, workspaceId, period);
}

/** The projected total of a tenant, or of all tenants, at the end of an open month. */
export interface MonthForecast {
  credits: bigint;
  /**
   * Totals by currency, in the order of the currency codes: the projected credits priced by the tenants' cards, plus
   * corrections and manual lines.
   */
  money: Money[];
}

interface OpenMonth {
  workspaceId: string;
  period: Period;
  /** Time of the last reading of the month, ISO-8601 UTC. */
  asOf: string | null;
}

/**
 * Returns a function that projects usage to the end of the month in a straight line, with the same result as
 * `finance_month_to_date`. Null if the last reading is within the month's first day, or after its end.
 */
function projector({ period, asOf }: OpenMonth): ((credits: bigint) => bigint) | null {
  const elapsedMs = asOf === null ? 0 : Date.parse(asOf) - periodStartMs(period);
  const lengthMs = periodEndMs(period) - periodStartMs(period);
  if (elapsedMs < DAY_MS || elapsedMs >= lengthMs) return null;
  const ratio = lengthMs / 1000 / (elapsedMs / 1000);
  return (credits) => {
    const size = BigInt(Math.round(Math.abs(Number(credits)) * ratio));
    return credits < 0n ? -size : size;
  };
}

/**
 * Returns functions that forecast a tenant's totals at the end of the month. The projected credits are priced as a
 * whole, because the tiers of a card do not allow charge lines to be projected one by one. Returns null when no
 * projection is possible.
 */
export function tenantForecaster(connection: LedgerDb, month: OpenMonth) {
  const project = projector(month);
  if (project === null) return null;
  const priceOf = creditPricer(connection, month.workspaceId);
  const ofUsage = (tenantId: string, used: PricedUsage): { credits: bigint; price: Money | null } => {
    const credits = project(used.credits);
    return { credits, price: priceOf(tenantId, month.period, credits, project(used.requests)) };
  };
  return {
    ofUsage,
    /**
     * Forecasts a tenant's total. A tenant with only corrections or manual lines has no usage in the month, so nothing
     * is projected for it.
     */
    ofTenant({
      tenantId,
      creditsUsed,
      requestCount,
      lines,
    }: {
      tenantId: string;
      creditsUsed: bigint;
      requestCount: bigint;
      lines: readonly BilledLine[];
    }) {
      const money = new MoneySums();
      const { credits, price } = ofUsage(tenantId, { credits: creditsUsed, requests: requestCount });
      for (const line of lines) if (!isPeriodCharge(line)) money.add(line);
      if (price !== null && lines.some(isPeriodCharge)) money.add(price);
      return { credits, money: money.money } satisfies MonthForecast;
    },
  };
}

/** Forecasts the total of all tenants of a month, without reading their lines. Null when no projection is possible. */
export function forecastMonth(
  connection: LedgerDb,
  { periodKey, ...month }: OpenMonth & { periodKey: bigint },
): MonthForecast | null {
  const forecaster = tenantForecaster(connection, month);
  if (forecaster === null) return null;
  const money = new MoneySums();
  let credits = 0n;
  const rows = connection
    .prepare(
      `SELECT t.tenant_id, u.credits_used, u.request_count
       FROM tenant_usage u JOIN tenants t ON t.tenant_key = u.tenant_key WHERE u.period_key = ? AND u.withdrawn = 0`,
    )
    .safeIntegers()
    .raw()
    .iterate(periodKey) as IterableIterator<[tenantId: string, credits: bigint, requests: bigint]>;
  for (const [tenantId, used, requests] of rows) {
    const forecast = forecaster.ofUsage(tenantId, { credits: used, requests });
    credits += forecast.credits;
    if (forecast.price !== null) money.add(forecast.price);
  }
  const booked = connection.prepare(
    `SELECT currency, amount_minor AS amountMinor FROM (${correctionsAndLinesSql(':periodKey')})`,
  );
  for (const one of booked.safeIntegers().all({ periodKey })) money.add(one as Parameters<MoneySums['add']>[0]);
  return { credits, money: money.money };
}
