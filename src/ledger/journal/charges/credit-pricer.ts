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
  const cardsOf = (period: Period): StoredCard[] => {
    const closedSeq = findPeriodOf(connection, workspaceId, period)?.closedSeq ?? null;
    return closedSeq === null ? cardsInForce(connection) : cardsAt(connection, closedSeq);
  };
  return (tenantId, period, credits) => {
    isPriced ??= hasCards(connection);
    if (!isPriced) return null;
    const pricer = pricers.get(period) ?? new PeriodPricer(cardsOf(period), workspaceId, period);
    pricers.set(period, pricer);
    const priced = pricer.price(tenantId, credits, true);
    return priced === null ? null : { currency: priced.card.currency, amountMinor: priced.charge.amountMinor };
  };
}
