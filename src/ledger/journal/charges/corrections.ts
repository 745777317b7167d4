import { isStorable, PeriodPricer } from '../../../billing/rates/period-pricer.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { inserter, query } from '../../store/query.ts';
import { chargeCorrections } from '../../store/schema/billing-tables.ts';
import { adjustments } from '../../store/schema/close-tables.ts';
import { asc, eq } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS, periodOfKey } from '../../store/schema/keys.ts';
import { usageEntries } from '../../store/schema/usage-tables.ts';
import { findPeriod, tenantIdOf, workspaceOf } from '../../store/subjects.ts';
import { cardsAt, type StoredCard } from './card-store.ts';

const insertCorrection = inserter(chargeCorrections);

/**
 * Charges the adjustments that a run has booked: charge(after) - charge(before), both by the card that was in force when
 * the corrected period was closed. So the corrections of a key always add up to what closing it later would have charged.
 */
export function bookCorrections(connection: LedgerConnection, { runKey }: { runKey: number }): void {
  const { adjustmentId, correctsPeriodKey, bookedPeriodKey, tenantKey, creditsDelta } = adjustments;
  const { kind, creditsAfter } = usageEntries;
  const booked = query(connection)
    .select({ adjustmentId, correctsPeriodKey, bookedPeriodKey, tenantKey, creditsDelta, kind, creditsAfter })
    .from(adjustments)
    .innerJoin(usageEntries, eq(usageEntries.entryId, adjustments.entryId))
    .where(eq(adjustments.runKey, runKey))
    .orderBy(asc(adjustmentId))
    .all();
  const insert = insertCorrection(connection);
  const pricers = new Map<number, PeriodPricer<StoredCard>>();
  for (const { kind, creditsAfter, ...adjustment } of booked) {
    const { correctsPeriodKey, creditsDelta } = adjustment;
    const pricer = pricers.get(correctsPeriodKey) ?? pricerOfClose(connection, correctsPeriodKey);
    pricers.set(correctsPeriodKey, pricer);
    const tenantId = tenantIdOf(connection, adjustment.tenantKey);
    const wasPresent = kind !== ENTRY_KINDS.opened && kind !== ENTRY_KINDS.restored;
    const before = pricer.price(tenantId, creditsAfter - creditsDelta, wasPresent);
    const after = pricer.price(tenantId, creditsAfter, kind !== ENTRY_KINDS.withdrawn);
    if (before?.charge == null || after?.charge == null) continue;
    const amountMinor = after.charge.amountMinor - before.charge.amountMinor;
    if (amountMinor === 0n && creditsDelta === 0n) continue;
    insert({
      ...adjustment,
      cardKey: after.card.cardKey,
      amountMinor: isStorable(amountMinor) ? amountMinor : null,
    });
  }
}

/** Prices by the cards that were in force when a period was closed. */
function pricerOfClose(connection: LedgerConnection, periodKey: number): PeriodPricer<StoredCard> {
  const cards = cardsAt(connection, findPeriod(connection, periodKey)?.closedSeq ?? 0);
  return new PeriodPricer(cards, workspaceOf(connection, periodKey).workspaceId, periodOfKey(periodKey));
}

/**
 * Takes back what a reopened period's corrections were charged, beside the adjustments that the reopen has taken back. The
 * card is that of the latest correction (`max` names its row): those before an earlier reopen add up to nothing.
 */
export function reverseCorrections(connection: LedgerConnection, { eventSeq }: { eventSeq: number }): void {
  connection
    .prepare(
      `INSERT INTO charge_corrections
         (booked_period_key, tenant_key, adjustment_id, card_key, corrects_period_key, credits_delta, amount_minor)
       SELECT booked_period_key, tenant_key, adjustment_id, card_key, corrects_period_key, credits, amount FROM (
         SELECT a.booked_period_key, a.tenant_key, a.adjustment_id, c.card_key, a.corrects_period_key,
           -sum(c.credits_delta) AS credits, -sum(c.amount_minor) AS amount, max(c.adjustment_id) AS latest
         FROM adjustments a
         JOIN charge_corrections c ON c.corrects_period_key = a.corrects_period_key AND c.tenant_key = a.tenant_key
         WHERE a.event_seq = ? GROUP BY a.adjustment_id)
       WHERE credits <> 0 OR amount <> 0`,
    )
    .run(eventSeq);
}
