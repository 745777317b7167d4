import { PeriodPricer } from '../../../billing/rates/period-pricer.ts';
import type { Period } from '../../../core/period.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { findPeriodOf } from '../../store/subjects.ts';
import { cardsAt, cardsInForce, hasCards, type StoredCard } from './card-store.ts';

/** What credits of a tenant in a period cost by the cards in force, in minor units; null when no card prices it. */
export type CreditPricer = (
  tenantId: string,
  period: Period,
  credits: bigint,
) => { currency: string; amountMinor: bigint } | null;

/**
 * Prices by the cards in force now, and a closed period by those of its close. They are read when somebody asks first, so a
 * ledger without cards pays nothing.
 */
export function creditPricer(connection: LedgerConnection, workspaceId: string): CreditPricer {
  let isPriced: boolean | null = null;
  const pricers = new Map<Period, PeriodPricer<StoredCard>>();
  return (tenantId, period, credits) => {
    isPriced ??= hasCards(connection);
    if (!isPriced) return null;
    const pricer = pricers.get(period) ?? pricerOfPeriod(connection, workspaceId, period);
    pricers.set(period, pricer);
    const priced = pricer.price(tenantId, credits, true);
    if (priced === null || priced.charge === null) return null;
    return { currency: priced.card.currency, amountMinor: priced.charge.amountMinor };
  };
}

/** Prices a period by the cards of its close, or while it is not closed by those in force. */
export function pricerOfPeriod(
  connection: LedgerConnection,
  workspaceId: string,
  period: Period,
): PeriodPricer<StoredCard> {
  const closedSeq = findPeriodOf(connection, workspaceId, period)?.closedSeq ?? null;
  const cards = closedSeq === null ? cardsInForce(connection) : cardsAt(connection, closedSeq);
  return new PeriodPricer(cards, workspaceId, period);
}
