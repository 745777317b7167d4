import type { RateCard } from '../../../billing/rates/rate-card.ts';
import { formatMinor, isCurrency, minorDigits, type Rounding } from '../../../core/money.ts';
import { cardsAt, cardsInForce, type StoredCard } from '../../journal/charges/card-store.ts';
import { buildTree } from '../../journal/charges/commit-close.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { charges, closeCommitments } from '../../store/schema/billing-tables.ts';
import { asc, eq, query } from '../../store/schema/drizzle.ts';
import { periodOfKey } from '../../store/schema/keys.ts';
import { periods, workspaces } from '../../store/schema/workspace-tables.ts';
import { FAULTS_A_CHECK, type Fault, fault } from '../verify/fault.ts';

interface PricedPeriod {
  periodKey: number;
  workspaceId: string;
  closedSeq: number | null;
}

/**
 * Works out anew what is owed: the charge of each tenant in each period by the cards that hold for it, the sum of all documents
 * about it, and the tree that each close has committed to. A fault names the tenant, or the close.
 */
export function checkMoney(connection: LedgerConnection): Fault[] {
  const { periodKey, workspaceKey, closedSeq } = periods;
  const priced = query(connection)
    .select({ periodKey, workspaceId: workspaces.workspaceId, closedSeq })
    .from(periods)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, workspaceKey))
    .orderBy(asc(periodKey))
    .all();
  const faults: Fault[] = [];
  const add = (message: string): void => {
    if (faults.length < FAULTS_A_CHECK) faults.push(fault('money', message));
  };
  for (const period of priced) {
    const cards = cardsOf(connection, period);
    for (const message of strangeCharges(connection, period, cards)) add(message);
    for (const { tenantId, message } of checkSums(connection, { ...period, cards })) {
      add(`${whereOf(tenantId, period)} ${message}`);
    }
  }
  for (const message of lostCharges(connection)) add(message);
  for (const message of strayCorrections(connection)) add(message);
  for (const period of priced) for (const message of strangeTree(connection, period)) add(message);
  return faults;
}

/** The cards of a period of a workspace: those of its close, or while it is not closed those in force. */
function cardsOf(connection: LedgerConnection, { periodKey, workspaceId, closedSeq }: PricedPeriod): StoredCard[] {
  const period = periodOfKey(periodKey);
  const cards = closedSeq === null ? cardsInForce(connection) : cardsAt(connection, closedSeq);
  return cards.filter(({ workspace, fromPeriod, toPeriod }) => {
    return (workspace ?? workspaceId) === workspaceId && fromPeriod <= period && (toPeriod ?? period) >= period;
  });
}

/** A tenant's figures, its charge, and the lines of that as one text; null without a charge or lines. */
type ChargedRow = [
  tenantId: string,
  credits: bigint,
  withdrawn: bigint,
  cardKey: bigint | null,
  chargedCredits: bigint | null,
  amountMinor: bigint | null,
  lines: string | null,
];

/** What a tenant without a record in the period is charged. */
const NOTHING: readonly OwedLine[] = [['usage', 1, 0n, 1n, '0', 0n]];

function* strangeCharges(
  connection: LedgerConnection,
  period: PricedPeriod,
  cards: readonly StoredCard[],
): Generator<string> {
  const { periodKey, closedSeq } = period;
  const charged = query(connection).select().from(charges).where(eq(charges.periodKey, periodKey)).limit(1).get();
  if (cards.length === 0 && charged === undefined) return;
  const rows = connection
    .prepare(
      `SELECT t.tenant_id, u.credits_used, u.withdrawn, c.card_key, c.credits_used, c.amount_minor,
         (SELECT group_concat(line, '') FROM (
            SELECT json_array(1, 'usage', c.tier, c.credits_used, c.unit_credits, c.unit_price, c.amount_minor) AS line
            WHERE coalesce(c.tier, c.unit_credits, c.unit_price) IS NOT NULL
            UNION ALL SELECT * FROM (
            SELECT json_array(line_number, kind, tier, credits, unit_credits, unit_price, amount_minor)
            FROM charge_lines l WHERE l.period_key = u.period_key AND l.tenant_key = u.tenant_key ORDER BY line_number)))
       FROM ${closedSeq === null ? 'tenant_usage' : 'closed_usage'} u
       JOIN tenants t USING (tenant_key)
       LEFT JOIN charges c ON c.period_key = u.period_key AND c.tenant_key = u.tenant_key
       WHERE u.period_key = ?`,
    )
    .safeIntegers()
    .raw()
    .iterate(periodKey) as IterableIterator<ChargedRow>;
  for (const [tenantId, credits, withdrawn, cardKey, chargedCredits, amountMinor, lines] of rows) {
    const card = cardFor(cards, tenantId);
    const owed = card === null ? null : withdrawn === 0n ? owedLines(card, credits) : NOTHING;
    const isRight =
      cardKey === (card === null ? null : BigInt(card.cardKey)) &&
      chargedCredits === (card === null ? null : credits) &&
      amountMinor === (owed === null ? null : sumOf(owed)) &&
      lines === (owed === null ? null : textOf(owed));
    if (!isRight) yield `${whereOf(tenantId, period)} is not charged what its rate card says`;
  }
}

/** As SQLite's json_array writes the lines. */
function textOf(lines: readonly OwedLine[]): string {
  const texts = lines.map(([kind, tier, credits, unitCredits, unitPrice, amountMinor], index) => {
    const quoted = [JSON.stringify(kind), tier, credits, unitCredits, JSON.stringify(unitPrice), amountMinor];
    return `[${[index + 1, ...quoted].map(String).join(',')}]`;
  });
  return texts.join('');
}

/** Charges, and lines of them, of tenants that have no figures in the period. */
function* lostCharges(connection: LedgerConnection): Generator<string> {
  const rows = connection
    .prepare(
      `SELECT coalesce(t.tenant_id, '') AS tenantId, c.period_key AS periodKey, coalesce(w.workspace_id, '') AS workspaceId
       FROM (SELECT period_key, tenant_key FROM charges UNION SELECT period_key, tenant_key FROM charge_lines) c
       LEFT JOIN tenants t USING (tenant_key) LEFT JOIN periods p USING (period_key)
       LEFT JOIN workspaces w ON w.workspace_key = p.workspace_key
       WHERE NOT EXISTS (SELECT 1 FROM tenant_usage u
         WHERE u.period_key = c.period_key AND u.tenant_key = c.tenant_key AND p.closed_seq IS NULL)
       AND NOT EXISTS (SELECT 1 FROM closed_usage u
         WHERE u.period_key = c.period_key AND u.tenant_key = c.tenant_key AND p.closed_seq IS NOT NULL)
       LIMIT ${FAULTS_A_CHECK}`,
    )
    .all() as { tenantId: string; periodKey: number; workspaceId: string }[];
  for (const row of rows) yield `${whereOf(row.tenantId, row)} is charged without figures`;
}

function* strangeTree(
  connection: LedgerConnection,
  { periodKey, workspaceId, closedSeq }: PricedPeriod,
): Generator<string> {
  if (closedSeq === null) return;
  const isOfClose = eq(closeCommitments.eventSeq, closedSeq);
  const committed = query(connection).select().from(closeCommitments).where(isOfClose).get();
  if (committed === undefined) return;
  const tree = buildTree(connection, { periodKey, closedSeq }, committed.salt);
  if (tree.leaves === committed.leaves && tree.root === committed.root) return;
  const close = `the close of ${periodOfKey(periodKey)} in workspace ${JSON.stringify(workspaceId)}`;
  yield `${close} has committed to other statements than those that stand here`;
}

function whereOf(tenantId: string, { periodKey, workspaceId }: Omit<PricedPeriod, 'closedSeq'>): string {
  return `${periodOfKey(periodKey)} of tenant ${JSON.stringify(tenantId)} in workspace ${JSON.stringify(workspaceId)}`;
}

interface CheckedPeriod {
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
function* checkSums(
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
function* strayCorrections(connection: LedgerConnection): Generator<string> {
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

/**
 * What is owed by a card, worked out once more: in exact fractions, from what docs/prices.md says of cards, and by none of the
 * code that charges. `verify` holds the ledger against it.
 */

/** A line in the order of its columns: kind, tier, credits, unit_credits, unit_price, amount_minor. */
type OwedLine = readonly [string, number | null, bigint | null, bigint | null, string | null, bigint];

type Fraction = readonly [over: bigint, under: bigint];

/** Null when it does not fit into 64 bits, or the currency is unknown. */
export function owedLines(card: RateCard, credits: bigint): OwedLine[] | null {
  if (!isCurrency(card.currency)) return null;
  const lines = usageLines(card, credits);
  const usage = sumOf(lines);
  const discount = times(fraction(card.discountPercent ?? '0'), usage < 0n ? -usage : usage);
  const off = rounded([discount[0], discount[1] * 100n], card.rounding);
  if (off > 0n) lines.push(['discount', null, null, null, null, usage < 0n ? off : -off]);
  const minimum = inMinor(card, card.minimum ?? '0', 1n);
  const isFree = credits <= 0n && (card.minimumNeedsUsage || (credits < 0n && card.creditNegative));
  if (!isFree && minimum > sumOf(lines)) lines.push(['minimum', null, null, null, null, minimum - sumOf(lines)]);
  const amounts = [...lines.map((line) => line[5]), sumOf(lines)];
  return amounts.every((amount) => BigInt.asIntN(64, amount) === amount && amount !== -(2n ** 63n)) ? lines : null;
}

function sumOf(lines: readonly OwedLine[]): bigint {
  return lines.reduce((sum, line) => sum + line[5], 0n);
}

function usageLines(card: RateCard, credits: bigint): OwedLine[] {
  if (credits < 0n && !card.creditNegative) return [['usage', 0, credits, 1n, '0', 0n]];
  if (credits < 0n) {
    const mirrored = usageLines({ ...card, includedCredits: 0 }, -credits);
    return mirrored.map(([kind, tier, used, units, price, amount]) => [
      kind,
      tier,
      -(used ?? 0n),
      units,
      price,
      -amount,
    ]);
  }
  const included = BigInt(card.includedCredits);
  const paid = credits > included ? credits - included : 0n;
  const free: OwedLine[] = included === 0n ? [] : [['usage', 0, credits - paid, 1n, '0', 0n]];
  if (included > 0n && paid === 0n) return free;
  const { pricing } = card;
  if (pricing.model === 'package') {
    const size = BigInt(pricing.credits);
    const packages = paid / size + (paid % size > 0n ? 1n : 0n);
    return [...free, ['usage', 1, paid, size, pricing.price, inMinor(card, pricing.price, packages)]];
  }
  const { model, tiers } = pricing;
  const reached = tiers.findIndex(({ upTo }) => upTo === null || paid <= BigInt(upTo));
  const priced = tiers.slice(0, reached + 1).map(({ upTo, pricePerCredit }, index): OwedLine => {
    const from = model === 'volume' ? 0n : BigInt(tiers[index - 1]?.upTo ?? 0);
    const used = (index === reached ? paid : BigInt(upTo ?? 0)) - from;
    return ['usage', index + 1, used, 1n, pricePerCredit, inMinor(card, pricePerCredit, used)];
  });
  return [...free, ...(model === 'volume' ? priced.slice(-1) : priced)];
}

/** The card that a tenant is priced by, of those of its workspace and period; null when none is, or several alike. */
function cardFor<Card extends RateCard>(cards: readonly Card[], tenantId: string): Card | null {
  const [best, next] = cards.filter((card) => fits(card, tenantId)).sort(byRank);
  return best === undefined || (next !== undefined && byRank(best, next) === 0) ? null : best;
}

function fits({ tenant }: RateCard, tenantId: string): boolean {
  if (tenant === null) return true;
  const parts = tenant.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`, 'u').test(tenantId);
}

function byRank(a: RateCard, b: RateCard): number {
  const rank = ({ tenant, priority, workspace, fromPeriod }: RateCard) => {
    const stars = (tenant ?? '*').replaceAll(/[^*]/g, '').length;
    const letters = tenant === null ? -1 : tenant.replaceAll('*', '').length;
    const isId = tenant !== null && stars === 0;
    return [isId ? 1 : 0, priority, letters, -stars, workspace === null ? 0 : 1, Number(fromPeriod.replace('-', ''))];
  };
  const [left, right] = [rank(a), rank(b)];
  const differences = left.map((value, at) => (right[at] ?? 0) - value);
  return differences.find((difference) => difference !== 0) ?? 0;
}

/** The price of some units, rounded once to the minor unit. */
function inMinor({ currency, rounding }: RateCard, price: string, units: bigint): bigint {
  return rounded(times(fraction(price), units * 10n ** BigInt(minorDigits(currency))), rounding);
}

function fraction(decimal: string): Fraction {
  const [whole = '', part = ''] = decimal.split('.');
  return [BigInt(whole + part), 10n ** BigInt(part.length)];
}

function times([over, under]: Fraction, factor: bigint): Fraction {
  return [over * factor, under];
}

/** To the nearest, halves up or to the even neighbour; for what is not negative. */
function rounded([over, under]: Fraction, rounding: Rounding): bigint {
  const below = (2n * over + under) / (2n * under);
  const isHalf = (2n * over + under) % (2n * under) === 0n;
  return isHalf && rounding === 'half_even' && below % 2n === 1n ? below - 1n : below;
}
