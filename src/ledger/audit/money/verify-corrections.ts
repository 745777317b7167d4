import { isStorable, PeriodPricer } from '../../../billing/rates/period-pricer.ts';
import { cardsAt, type StoredCard } from '../../journal/charges/card-store.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { ENTRY_KINDS, periodOfKey } from '../../store/schema/keys.ts';

/** An adjustment, the correction in money that stands beside it, and what decides what that must be. */
interface CheckedAdjustment {
  adjustmentId: bigint;
  correctsPeriodKey: bigint;
  tenantId: string;
  workspaceId: string;
  /** The close that the adjustment corrects; null for one that a reopen took back. */
  closedSeq: bigint | null;
  kind: bigint | null;
  creditsDelta: bigint;
  creditsAfter: bigint | null;
  /** What the corrections of the key before this one add up to, and the card of the last; null but for a reopen. */
  creditsBefore: bigint | null;
  amountBefore: bigint | null;
  cardBefore: bigint | null;
  /** The correction as it stands; null when there is none. */
  cardKey: bigint | null;
  correctedPeriodKey: bigint | null;
  chargedCredits: bigint | null;
  amountMinor: bigint | null;
}

interface Correction {
  cardKey: bigint;
  credits: bigint;
  amountMinor: bigint | null;
}

/** Each adjustment's correction in money is the one that its close's card makes of it. Gives what is not, in words. */
export function* checkCorrections(connection: LedgerConnection): Generator<string> {
  if (connection.prepare('SELECT 1 FROM rate_cards UNION ALL SELECT 1 FROM charge_corrections').get() === undefined)
    return;
  const pricers = new Map<string, PeriodPricer<StoredCard>>();
  const pricerOf = (adjustment: CheckedAdjustment, closedSeq: bigint): PeriodPricer<StoredCard> => {
    const key = `${adjustment.correctsPeriodKey} ${closedSeq}`;
    let pricer = pricers.get(key);
    if (pricer === undefined) {
      const period = periodOfKey(Number(adjustment.correctsPeriodKey));
      pricer = new PeriodPricer(cardsAt(connection, Number(closedSeq)), adjustment.workspaceId, period);
      pricers.set(key, pricer);
    }
    return pricer;
  };
  for (const adjustment of readAdjustments(connection)) {
    const { closedSeq } = adjustment;
    const expected =
      closedSeq === null ? reversalOf(adjustment) : chargedBy(adjustment, pricerOf(adjustment, closedSeq));
    if (isAsExpected(adjustment, expected)) continue;
    const where = `${periodOfKey(Number(adjustment.correctsPeriodKey))} of tenant ${JSON.stringify(adjustment.tenantId)}`;
    yield `adjustment ${adjustment.adjustmentId} (${where}) is not charged what the rate card of its close says`;
  }
  const stray = connection
    .prepare(
      `SELECT c.adjustment_id FROM charge_corrections c
       WHERE NOT EXISTS (SELECT 1 FROM adjustments a WHERE a.adjustment_id = c.adjustment_id
         AND a.tenant_key = c.tenant_key AND a.booked_period_key = c.booked_period_key) LIMIT 1`,
    )
    .pluck()
    .get() as number | undefined;
  if (stray !== undefined)
    yield `a correction in money names adjustment ${stray}, which is not one of its tenant and period`;
}

/** What a run's correction is charged: charge(after) - charge(before) by the card of the close; null where it is nothing. */
function chargedBy(adjustment: CheckedAdjustment, pricer: PeriodPricer<StoredCard>): Correction | null {
  const { tenantId, kind, creditsDelta } = adjustment;
  const creditsAfter = adjustment.creditsAfter ?? 0n;
  const wasPresent = kind !== BigInt(ENTRY_KINDS.opened) && kind !== BigInt(ENTRY_KINDS.restored);
  const before = pricer.price(tenantId, creditsAfter - creditsDelta, wasPresent);
  const after = pricer.price(tenantId, creditsAfter, kind !== BigInt(ENTRY_KINDS.withdrawn));
  if (before?.charge == null || after?.charge == null) return null;
  const amountMinor = after.charge.amountMinor - before.charge.amountMinor;
  if (amountMinor === 0n && creditsDelta === 0n) return null;
  const storable = isStorable(amountMinor) ? amountMinor : null;
  return { cardKey: BigInt(after.card.cardKey), credits: creditsDelta, amountMinor: storable };
}

/** A reopen takes back all that the key was charged in corrections. */
function reversalOf({ cardBefore, creditsBefore, amountBefore }: CheckedAdjustment): Correction | null {
  if (cardBefore === null || creditsBefore === null) return null;
  const amountMinor = amountBefore === null ? null : -amountBefore;
  if (creditsBefore === 0n && (amountMinor ?? 0n) === 0n) return null;
  return { cardKey: cardBefore, credits: -creditsBefore, amountMinor };
}

function isAsExpected(adjustment: CheckedAdjustment, expected: Correction | null): boolean {
  const { cardKey, correctedPeriodKey, chargedCredits, amountMinor } = adjustment;
  if (expected === null) return cardKey === null;
  return (
    cardKey === expected.cardKey &&
    correctedPeriodKey === adjustment.correctsPeriodKey &&
    chargedCredits === expected.credits &&
    amountMinor === expected.amountMinor
  );
}

function readAdjustments(connection: LedgerConnection): IterableIterator<CheckedAdjustment> {
  const before = `FROM charge_corrections b WHERE a.event_seq IS NOT NULL
    AND b.corrects_period_key = a.corrects_period_key AND b.tenant_key = a.tenant_key
    AND b.adjustment_id < a.adjustment_id`;
  return connection
    .prepare(
      `SELECT a.adjustment_id AS adjustmentId, a.corrects_period_key AS correctsPeriodKey, t.tenant_id AS tenantId,
         w.workspace_id AS workspaceId, e.kind, a.credits_delta AS creditsDelta, e.credits_after AS creditsAfter,
         (SELECT max(v.event_seq) FROM period_events v JOIN runs r ON r.run_key = a.run_key
          WHERE v.period_key = a.corrects_period_key AND v.action = 'close' AND v.event_seq < r.applied_seq) AS closedSeq,
         (SELECT sum(b.credits_delta) ${before}) AS creditsBefore,
         (SELECT sum(b.amount_minor) ${before}) AS amountBefore,
         (SELECT b.card_key ${before} ORDER BY b.adjustment_id DESC LIMIT 1) AS cardBefore,
         c.card_key AS cardKey, c.corrects_period_key AS correctedPeriodKey, c.credits_delta AS chargedCredits,
         c.amount_minor AS amountMinor
       FROM adjustments a
       LEFT JOIN charge_corrections c ON c.booked_period_key = a.booked_period_key AND c.tenant_key = a.tenant_key
         AND c.adjustment_id = a.adjustment_id
       LEFT JOIN usage_entries e ON e.entry_id = a.entry_id
       JOIN periods p ON p.period_key = a.corrects_period_key
       JOIN workspaces w ON w.workspace_key = p.workspace_key
       JOIN tenants t ON t.tenant_key = a.tenant_key
       ORDER BY a.adjustment_id`,
    )
    .safeIntegers()
    .iterate() as IterableIterator<CheckedAdjustment>;
}
