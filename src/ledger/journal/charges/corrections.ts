import { PeriodPricer } from '../../../billing/rates/period-pricer.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { ENTRY_KINDS, periodOfKey } from '../../store/schema/keys.ts';
import { cardsAt, type StoredCard } from './card-store.ts';
import { isStorable } from './charge-writer.ts';

interface BookedAdjustment {
  adjustmentId: bigint;
  correctsPeriodKey: bigint;
  bookedPeriodKey: bigint;
  tenantKey: bigint;
  tenantId: string;
  workspaceId: string;
  closedSeq: bigint;
  kind: bigint;
  creditsDelta: bigint;
  creditsAfter: bigint;
}

/**
 * Charges the adjustments that a run has booked: charge(after) - charge(before), both by the card that was in force when
 * the corrected period was closed. So the corrections of a key always add up to what closing it later would have charged.
 */
export function bookCorrections(connection: LedgerConnection, { runKey }: { runKey: number }): void {
  const adjustments = connection
    .prepare(
      `SELECT a.adjustment_id AS adjustmentId, a.corrects_period_key AS correctsPeriodKey,
         a.booked_period_key AS bookedPeriodKey, a.tenant_key AS tenantKey, t.tenant_id AS tenantId,
         w.workspace_id AS workspaceId, p.closed_seq AS closedSeq, e.kind, a.credits_delta AS creditsDelta,
         e.credits_after AS creditsAfter
       FROM adjustments a JOIN usage_entries e USING (entry_id)
       JOIN periods p ON p.period_key = a.corrects_period_key
       JOIN workspaces w ON w.workspace_key = p.workspace_key
       JOIN tenants t ON t.tenant_key = a.tenant_key
       WHERE a.run_key = ? ORDER BY a.adjustment_id`,
    )
    .safeIntegers()
    .all(runKey) as BookedAdjustment[];
  const insert = insertCorrection(connection);
  const pricers = new Map<bigint, PeriodPricer<StoredCard>>();
  for (const adjustment of adjustments) {
    const { correctsPeriodKey, closedSeq, workspaceId, tenantId, kind, creditsAfter, creditsDelta } = adjustment;
    let pricer = pricers.get(correctsPeriodKey);
    if (pricer === undefined) {
      const cards = cardsAt(connection, Number(closedSeq));
      pricer = new PeriodPricer(cards, workspaceId, periodOfKey(Number(correctsPeriodKey)));
      pricers.set(correctsPeriodKey, pricer);
    }
    const wasPresent = kind !== BigInt(ENTRY_KINDS.opened) && kind !== BigInt(ENTRY_KINDS.restored);
    const before = pricer.price(tenantId, creditsAfter - creditsDelta, wasPresent);
    const after = pricer.price(tenantId, creditsAfter, kind !== BigInt(ENTRY_KINDS.withdrawn));
    if (before === null || after === null) continue;
    const amountMinor = after.charge.amountMinor - before.charge.amountMinor;
    if (amountMinor === 0n && creditsDelta === 0n) continue;
    insert.run({
      ...adjustment,
      cardKey: after.card.cardKey,
      amountMinor: isStorable(amountMinor) ? amountMinor : null,
    });
  }
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

function insertCorrection(connection: LedgerConnection) {
  return connection.prepare(
    `INSERT INTO charge_corrections
       (booked_period_key, tenant_key, adjustment_id, card_key, corrects_period_key, credits_delta, amount_minor)
     VALUES (:bookedPeriodKey, :tenantKey, :adjustmentId, :cardKey, :correctsPeriodKey, :creditsDelta, :amountMinor)`,
  );
}
