import { formatMinor, isCurrency } from '../../../core/money.ts';
import type { StoredCard } from '../../journal/charges/card-store.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { cardFor, owedLines, sumOf } from './owed.ts';

/** A period, and the cards that hold for it in its workspace. */
export interface CheckedPeriod {
  periodKey: number;
  closedSeq: number | null;
  cards: readonly StoredCard[];
}

/** A key whose documents may have to sum to something else than its own charge. */
interface CheckedKey {
  tenantKey: bigint;
  tenantId: string;
  creditsNow: bigint;
  isPresent: bigint;
  creditsFrozen: bigint;
  cardKey: bigint | null;
  /** Of its own charge; null: none, or one without a price. */
  chargedMinor: bigint | null;
}

interface Booked {
  cardKey: bigint | null;
  currency: string | null;
  credits: bigint;
  amountMinor: bigint | null;
}

/**
 * Checks of each key of a period that its own charge and all corrections of it sum to what it owes by the figures that stand.
 * Gives the tenant and what is wrong, in words.
 */
export function* checkSums(
  connection: LedgerConnection,
  { periodKey, closedSeq, cards }: CheckedPeriod,
): Generator<{ tenantId: string; message: string }> {
  const corrections = connection
    .prepare(
      `SELECT x.card_key AS cardKey, k.currency, x.credits_delta AS credits, x.amount_minor AS amountMinor
       FROM charge_corrections x LEFT JOIN rate_cards k ON k.card_key = x.card_key
       WHERE x.corrects_period_key = ? AND x.tenant_key = ?`,
    )
    .safeIntegers();
  const keys = keysOf(connection, closedSeq !== null).all({ periodKey }) as CheckedKey[];
  for (const key of keys) {
    const booked = corrections.all(periodKey, key.tenantKey) as Booked[];
    if (cards.length === 0 && booked.length === 0) continue;
    for (const message of faultsOf(key, booked, closedSeq === null ? null : cards)) {
      yield { tenantId: key.tenantId, message };
    }
  }
}

/** `cards`: those of the close; null while the period is not closed, and its own charge is what it owes. */
function* faultsOf(key: CheckedKey, booked: readonly Booked[], cards: readonly StoredCard[] | null): Generator<string> {
  const sums = new Map<string, bigint>();
  const add = (currency: string, amount: bigint): void => void sums.set(currency, (sums.get(currency) ?? 0n) + amount);
  for (const { currency, amountMinor } of booked) if (currency !== null) add(currency, amountMinor ?? 0n);
  let owed = new Map<string, bigint>();
  if (cards !== null) {
    const charged = cards.find(({ cardKey }) => BigInt(cardKey) === key.cardKey);
    const card = charged ?? cardFor(cards, key.tenantId);
    if (charged !== undefined) add(charged.currency, key.chargedMinor ?? 0n);
    const lines = card === null ? null : key.isPresent === 0n ? [] : owedLines(card, key.creditsNow);
    // Without a price there is nothing to compare: the correction that says so has no amount either.
    if (lines === null && cards.length > 0) return;
    if (card !== null && lines !== null) owed = new Map([[card.currency, sumOf(lines)]]);
  }
  for (const currency of new Set([...sums.keys(), ...owed.keys()])) {
    const [sum, due] = [sums.get(currency) ?? 0n, owed.get(currency) ?? 0n];
    const own = cards === null ? 'nothing beside its own charge' : amountOf(due, currency);
    if (sum !== due) yield `was charged ${amountOf(sum, currency)} and owes ${own}`;
  }
  const credits = booked.reduce((sum, correction) => sum + correction.credits, 0n);
  const moved = cards === null ? 0n : key.creditsNow - key.creditsFrozen;
  if (credits !== moved) yield `has corrections of ${credits} credits instead of ${moved}`;
}

function amountOf(minor: bigint, currency: string): string {
  return isCurrency(currency) ? `${formatMinor(minor, currency)} ${currency}` : `${minor} ${currency}`;
}

/** Of a closed period whatever has changed since, or has corrections; of another one what has corrections. */
function keysOf(connection: LedgerConnection, isClosed: boolean) {
  const changed = `SELECT u.tenant_key FROM tenant_usage u
      LEFT JOIN closed_usage z ON z.period_key = u.period_key AND z.tenant_key = u.tenant_key
      WHERE u.period_key = :periodKey AND (z.credits_used IS NOT u.credits_used OR z.withdrawn IS NOT u.withdrawn)
    UNION SELECT tenant_key FROM closed_usage WHERE period_key = :periodKey
      AND tenant_key NOT IN (SELECT tenant_key FROM tenant_usage WHERE period_key = :periodKey) UNION`;
  return connection
    .prepare(
      `SELECT k.tenant_key AS tenantKey, coalesce(t.tenant_id, '') AS tenantId, coalesce(u.credits_used, 0) AS creditsNow,
         u.withdrawn IS 0 AS isPresent, coalesce(z.credits_used, 0) AS creditsFrozen, c.card_key AS cardKey,
         c.amount_minor AS chargedMinor
       FROM (${isClosed ? changed : ''} SELECT tenant_key FROM charge_corrections WHERE corrects_period_key = :periodKey) k
       LEFT JOIN tenants t ON t.tenant_key = k.tenant_key
       LEFT JOIN tenant_usage u ON u.period_key = :periodKey AND u.tenant_key = k.tenant_key
       LEFT JOIN closed_usage z ON z.period_key = :periodKey AND z.tenant_key = k.tenant_key
       LEFT JOIN charges c ON c.period_key = :periodKey AND c.tenant_key = k.tenant_key
       GROUP BY k.tenant_key`,
    )
    .safeIntegers();
}

/** Corrections that stand beside an adjustment of another tenant or period, or name no period that there is. */
export function* strayCorrections(connection: LedgerConnection): Generator<string> {
  const rows = connection
    .prepare(
      `SELECT x.correction_id AS correctionId FROM charge_corrections x
       WHERE (x.adjustment_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM adjustments a
           WHERE a.adjustment_id = x.adjustment_id AND a.tenant_key = x.tenant_key
             AND a.corrects_period_key = x.corrects_period_key AND a.booked_period_key = x.booked_period_key))
         OR NOT EXISTS (SELECT 1 FROM periods p WHERE p.period_key = x.corrects_period_key)
         OR NOT EXISTS (SELECT 1 FROM periods p WHERE p.period_key = x.booked_period_key) LIMIT 10`,
    )
    .all() as { correctionId: number }[];
  for (const { correctionId } of rows) {
    yield `correction ${correctionId} stands beside an adjustment that is not one of its tenant and periods`;
  }
}
