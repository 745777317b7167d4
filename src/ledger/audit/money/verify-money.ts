import { formatMinor, isCurrency, minorDigits } from '../../../core/money.ts';
import { cardsAt, cardsInForce, type StoredCard } from '../../journal/charges/card-store.ts';
import { buildCommitTree } from '../../journal/charges/commit-close.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { charges, closeCommitments, costs } from '../../store/schema/billing-tables.ts';
import { asc, eq, query } from '../../store/schema/drizzle.ts';
import { periodOfKey } from '../../store/schema/keys.ts';
import { periods, workspaces } from '../../store/schema/workspace-tables.ts';
import { FAULTS_PER_CHECK, type Fault, fault } from '../verify/fault.ts';
import { cardFor, type DueLine, dueLines, sumDueLines } from './amount-due.ts';

interface BookedPeriod {
  periodKey: number;
  workspaceId: string;
  closedSeq: number | null;
}

/**
 * Recomputes each tenant's charge in each period by the applicable cards, the sum of all documents about that period,
 * and the tree that each close committed to. A fault names the tenant or the close.
 */
export function checkMoney(connection: LedgerDb): Fault[] {
  const { periodKey, workspaceKey, closedSeq } = periods;
  const priced = query(connection)
    .select({ periodKey, workspaceId: workspaces.workspaceId, closedSeq })
    .from(periods)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, workspaceKey))
    .orderBy(asc(periodKey))
    .all();
  const faults: Fault[] = [];
  const add = (message: string): void => {
    if (faults.length < FAULTS_PER_CHECK) faults.push(fault('money', message));
  };
  for (const period of priced) {
    const cards = pricingCards(connection, period);
    for (const message of chargeFaults(connection, period, cards)) add(message);
    for (const { tenantId, message } of checkSums(connection, { ...period, cards })) {
      add(`${describeKey(tenantId, period)} ${message}`);
    }
  }
  const costCards = cardsInForce(connection, 'cost');
  for (const period of priced) {
    for (const message of costFaults(connection, period, ofPeriod(costCards, period))) add(message);
  }
  for (const message of orphanedCharges(connection)) add(message);
  for (const message of strayCorrections(connection)) add(message);
  for (const message of lineFaults(connection)) add(message);
  for (const period of priced) for (const message of treeFaults(connection, period)) add(message);
  return faults;
}

/**
 * Returns the cards that price a period of a workspace: the cards in force at the period's close or, while the period
 * is open, the cards in force now.
 */
function pricingCards(connection: LedgerDb, period: BookedPeriod): StoredCard[] {
  const { closedSeq } = period;
  return ofPeriod(closedSeq === null ? cardsInForce(connection) : cardsAt(connection, closedSeq), period);
}

function ofPeriod(cards: readonly StoredCard[], { periodKey, workspaceId }: BookedPeriod): StoredCard[] {
  const period = periodOfKey(periodKey);
  return cards.filter(({ workspace, fromPeriod, toPeriod }) => {
    return (workspace ?? workspaceId) === workspaceId && fromPeriod <= period && (toPeriod ?? period) >= period;
  });
}

/**
 * A tenant's figures, its charge, and the lines of the charge joined into one text. Charge and lines are null if the
 * tenant has no charge.
 */
type ChargedRow = [
  tenantId: string,
  credits: bigint,
  requests: bigint,
  withdrawn: bigint,
  cardKey: bigint | null,
  chargedCredits: bigint | null,
  amountMinor: bigint | null,
  lines: string | null,
];

/** The expected charge line of a tenant whose record was withdrawn. */
const NO_USAGE_LINE: readonly DueLine[] = [['usage', 1, 0n, 1n, '0', 0n, null]];

function* chargeFaults(connection: LedgerDb, period: BookedPeriod, cards: readonly StoredCard[]): Generator<string> {
  const { periodKey, closedSeq } = period;
  const charged = query(connection).select().from(charges).where(eq(charges.periodKey, periodKey)).limit(1).get();
  if (cards.length === 0 && charged === undefined) return;
  const rows = connection
    .prepare(
      `SELECT t.tenant_id, u.credits_used, u.request_count, u.withdrawn, c.card_key, c.credits_used, c.amount_minor,
         (SELECT group_concat(line, '') FROM (
            SELECT json_array(1, 'usage', c.tier, c.credits_used, c.unit_credits, c.unit_price, c.amount_minor, NULL) AS line
            WHERE coalesce(c.tier, c.unit_credits, c.unit_price) IS NOT NULL
            UNION ALL SELECT * FROM (
            SELECT json_array(line_number, kind, tier, credits, unit_credits, unit_price, amount_minor, requests)
            FROM charge_lines l WHERE l.period_key = u.period_key AND l.tenant_key = u.tenant_key ORDER BY line_number)))
       FROM ${closedSeq === null ? 'tenant_usage' : 'closed_usage'} u
       JOIN tenants t USING (tenant_key)
       LEFT JOIN charges c ON c.period_key = u.period_key AND c.tenant_key = u.tenant_key
       WHERE u.period_key = ?`,
    )
    .safeIntegers()
    .raw()
    .iterate(periodKey) as IterableIterator<ChargedRow>;
  for (const [tenantId, credits, requests, withdrawn, cardKey, chargedCredits, amountMinor, lines] of rows) {
    const card = cardFor(cards, tenantId);
    const expected = card === null ? null : withdrawn === 0n ? dueLines(card, credits, requests) : NO_USAGE_LINE;
    const isRight =
      cardKey === (card === null ? null : BigInt(card.cardKey)) &&
      chargedCredits === (card === null ? null : credits) &&
      amountMinor === (expected === null ? null : sumDueLines(expected)) &&
      lines === (expected === null ? null : dueLinesText(expected));
    if (!isRight) yield `${describeKey(tenantId, period)}: the charge does not match the rate card`;
  }
}

/** Yields a message for each stored cost that differs from the current figures priced by the cost cards in force. */
function* costFaults(connection: LedgerDb, period: BookedPeriod, cards: readonly StoredCard[]): Generator<string> {
  const { periodKey } = period;
  const kept = query(connection).select().from(costs).where(eq(costs.periodKey, periodKey)).limit(1).get();
  if (cards.length === 0 && kept === undefined) return;
  const rows = connection
    .prepare(
      `SELECT coalesce(t.tenant_id, ''), u.credits_used, u.request_count, u.withdrawn, c.card_key, c.amount_minor
       FROM (SELECT tenant_key FROM tenant_usage WHERE period_key = :periodKey
         UNION SELECT tenant_key FROM costs WHERE period_key = :periodKey) k
       LEFT JOIN tenants t USING (tenant_key)
       LEFT JOIN tenant_usage u ON u.period_key = :periodKey AND u.tenant_key = k.tenant_key
       LEFT JOIN costs c ON c.period_key = :periodKey AND c.tenant_key = k.tenant_key`,
    )
    .safeIntegers()
    .raw()
    .iterate({ periodKey }) as IterableIterator<CostRow>;
  for (const [tenantId, credits, requests, withdrawn, cardKey, amountMinor] of rows) {
    const card = credits === null ? null : cardFor(cards, tenantId);
    const due = card === null || withdrawn !== 0n ? [] : dueLines(card, credits ?? 0n, requests ?? 0n);
    const isRight =
      cardKey === (card === null ? null : BigInt(card.cardKey)) &&
      amountMinor === (card === null || due === null ? null : sumDueLines(due));
    if (!isRight) yield `${describeKey(tenantId, period)}: the cost does not match the cost card`;
  }
}

/**
 * A tenant's figures, which are null if the month has none for it, and its stored cost, of which card and amount are
 * null if it has none.
 */
type CostRow = [
  tenantId: string,
  credits: bigint | null,
  requests: bigint | null,
  withdrawn: bigint | null,
  cardKey: bigint | null,
  amountMinor: bigint | null,
];

/** Formats charge lines as SQLite's json_array does, to compare them with the query's text. */
function dueLinesText(lines: readonly DueLine[]): string {
  const texts = lines.map(([kind, tier, credits, unitCredits, unitPrice, amountMinor, requests], index) => {
    const quoted = [JSON.stringify(kind), tier, credits, unitCredits, JSON.stringify(unitPrice), amountMinor, requests];
    return `[${[index + 1, ...quoted].map(String).join(',')}]`;
  });
  return texts.join('');
}

/** Yields a message for each charge or charge line of a tenant that has no figures in the period. */
function* orphanedCharges(connection: LedgerDb): Generator<string> {
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
       LIMIT ${FAULTS_PER_CHECK}`,
    )
    .all() as { tenantId: string; periodKey: number; workspaceId: string }[];
  for (const row of rows) yield `${describeKey(row.tenantId, row)} has a charge but no figures`;
}

function* treeFaults(connection: LedgerDb, { periodKey, workspaceId, closedSeq }: BookedPeriod): Generator<string> {
  if (closedSeq === null) return;
  const isOfClose = eq(closeCommitments.eventSeq, closedSeq);
  const committed = query(connection).select().from(closeCommitments).where(isOfClose).get();
  if (committed === undefined) return;
  const tree = buildCommitTree(connection, { periodKey, closedSeq }, committed.salt);
  if (tree.leaves === committed.leaves && tree.root === committed.root) return;
  const close = `the close of ${periodOfKey(periodKey)} in workspace ${JSON.stringify(workspaceId)}`;
  yield `the statements in the ledger do not match the commitment of ${close}`;
}

function describeKey(tenantId: string, { periodKey, workspaceId }: Omit<BookedPeriod, 'closedSeq'>): string {
  return `${periodOfKey(periodKey)} of tenant ${JSON.stringify(tenantId)} in workspace ${JSON.stringify(workspaceId)}`;
}

interface CheckedPeriod {
  periodKey: number;
  closedSeq: number | null;
  cards: readonly StoredCard[];
}

/**
 * A tenant and a period. The amounts of all documents about them are summed: the period's own charge, and corrections.
 */
interface CheckedKey {
  tenantKey: bigint;
  tenantId: string;
  creditsNow: bigint;
  requestsNow: bigint;
  isPresent: bigint;
  creditsFrozen: bigint;
  cardKey: bigint | null;
  /** The charge for the period itself, in minor units; null if the period has no charge, or its charge has no price. */
  chargedMinor: bigint | null;
}

interface Booked {
  cardKey: bigint | null;
  currency: string | null;
  credits: bigint;
  amountMinor: bigint | null;
}

/**
 * Checks that, for each tenant, the charge of the period and all corrections sum to the amount due for the current
 * figures. Yields the tenant and a description of each fault.
 */
function* checkSums(
  connection: LedgerDb,
  { periodKey, closedSeq, cards }: CheckedPeriod,
): Generator<{ tenantId: string; message: string }> {
  const corrections = connection
    .prepare(
      `SELECT x.card_key AS cardKey, k.currency, x.credits_delta AS credits, x.amount_minor AS amountMinor
       FROM charge_corrections x LEFT JOIN rate_cards k ON k.card_key = x.card_key
       WHERE x.corrects_period_key = ? AND x.tenant_key = ? AND x.line_id IS NULL`,
    )
    .safeIntegers();
  const keys = chargedKeys(connection, closedSeq !== null).all({ periodKey }) as CheckedKey[];
  for (const key of keys) {
    const booked = corrections.all(periodKey, key.tenantKey) as Booked[];
    if (cards.length === 0 && booked.length === 0) continue;
    for (const message of keyFaults(key, booked, closedSeq === null ? null : cards)) {
      yield { tenantId: key.tenantId, message };
    }
  }
}

/**
 * Yields the faults of one tenant's period. `cards`: the cards of the close; null for an open period, in which the
 * stored charge is the amount due, so that the corrections must sum to zero.
 */
function* keyFaults(
  key: CheckedKey,
  booked: readonly Booked[],
  cards: readonly StoredCard[] | null,
): Generator<string> {
  const sums = new Map<string, bigint>();
  const add = (currency: string, amount: bigint): void => void sums.set(currency, (sums.get(currency) ?? 0n) + amount);
  for (const { currency, amountMinor } of booked) if (currency !== null) add(currency, amountMinor ?? 0n);
  let expected = new Map<string, bigint>();
  if (cards !== null) {
    const charged = cards.find(({ cardKey }) => BigInt(cardKey) === key.cardKey);
    const card = charged ?? cardFor(cards, key.tenantId);
    if (charged !== undefined) add(charged.currency, key.chargedMinor ?? 0n);
    const lines = card === null ? null : key.isPresent === 0n ? [] : dueLines(card, key.creditsNow, key.requestsNow);
    // Usage without a price cannot be compared, because its correction has no amount.
    if (lines === null && cards.length > 0) return;
    if (card !== null && lines !== null) expected = new Map([[card.currency, sumDueLines(lines)]]);
  }
  for (const currency of new Set([...sums.keys(), ...expected.keys()])) {
    const [sum, due] = [sums.get(currency) ?? 0n, expected.get(currency) ?? 0n];
    const own = cards === null ? 'nothing besides its own charge' : minorWithCurrency(due, currency);
    if (sum !== due) yield `was charged ${minorWithCurrency(sum, currency)}, but the amount due is ${own}`;
  }
  const credits = booked.reduce((sum, correction) => sum + correction.credits, 0n);
  const moved = cards === null ? 0n : key.creditsNow - key.creditsFrozen;
  if (credits !== moved) yield `has corrections of ${credits} credits instead of ${moved}`;
}

function minorWithCurrency(minor: bigint, currency: string): string {
  return isCurrency(currency) ? `${formatMinor(minor, currency)} ${currency}` : `${minor} ${currency}`;
}

/**
 * Selects the tenants to check. In an open period, these are the tenants with corrections; in a closed period, also
 * those whose figures have changed since the close.
 */
function chargedKeys(connection: LedgerDb, isClosed: boolean) {
  const changed = `SELECT u.tenant_key FROM tenant_usage u
      LEFT JOIN closed_usage z ON z.period_key = u.period_key AND z.tenant_key = u.tenant_key
      WHERE u.period_key = :periodKey AND (z.credits_used IS NOT u.credits_used
        OR z.request_count IS NOT u.request_count OR z.withdrawn IS NOT u.withdrawn)
    UNION SELECT tenant_key FROM closed_usage WHERE period_key = :periodKey
      AND tenant_key NOT IN (SELECT tenant_key FROM tenant_usage WHERE period_key = :periodKey) UNION`;
  return connection
    .prepare(
      `SELECT k.tenant_key AS tenantKey, coalesce(t.tenant_id, '') AS tenantId, coalesce(u.credits_used, 0) AS creditsNow,
         coalesce(u.request_count, 0) AS requestsNow,
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

/**
 * Yields a message for each manual line whose amounts in documents and corrections do not sum to its current value, and
 * for each line with an invalid tenant or currency.
 */
function* lineFaults(connection: LedgerDb): Generator<string> {
  const rows = connection
    .prepare(
      `SELECT m.line_id AS lineId, m.currency, m.minor_units AS minorUnits, m.amount_minor AS amountMinor,
         m.after_seq AS afterSeq, m.revoked_after_seq AS revokedAfterSeq, p.closed_seq AS closedSeq,
         t.workspace_key IS NOT p.workspace_key AS isStray,
         (SELECT coalesce(sum(x.amount_minor), 0) FROM charge_corrections x WHERE x.line_id = m.line_id) AS bookedMinor
       FROM manual_lines m
       LEFT JOIN periods p ON p.period_key = m.period_key
       LEFT JOIN tenants t ON t.tenant_key = m.tenant_key`,
    )
    .safeIntegers()
    .iterate() as IterableIterator<CheckedLine>;
  for (const line of rows) {
    const { lineId, currency, minorUnits, amountMinor, afterSeq, revokedAfterSeq: revoked, closedSeq } = line;
    const isMoney = isCurrency(currency) && minorUnits === 10n ** BigInt(minorDigits(currency));
    if (line.isStray !== 0n || !isMoney)
      yield `manual line ${lineId} has a tenant of another workspace or an invalid currency`;
    // A line that was revoked before the close in force was on no statement of that close.
    const isStated = closedSeq !== null && afterSeq < closedSeq && (revoked === null || revoked >= closedSeq);
    const isDue = closedSeq !== null && revoked === null;
    const due = (isDue ? amountMinor : 0n) - (isStated ? amountMinor : 0n);
    if (line.bookedMinor === due) continue;
    const sums = `${minorWithCurrency(line.bookedMinor, currency)} instead of ${minorWithCurrency(due, currency)}`;
    yield `manual line ${lineId} has corrections of ${sums}`;
  }
}

interface CheckedLine {
  lineId: bigint;
  currency: string;
  minorUnits: bigint;
  amountMinor: bigint;
  afterSeq: bigint;
  revokedAfterSeq: bigint | null;
  closedSeq: bigint | null;
  isStray: bigint;
  bookedMinor: bigint;
}

/**
 * Yields a message for each correction that refers to an adjustment or manual line of another tenant or period, or to a
 * missing period.
 */
function* strayCorrections(connection: LedgerDb): Generator<string> {
  const rows = connection
    .prepare(
      `SELECT x.correction_id AS correctionId FROM charge_corrections x
       WHERE (x.adjustment_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM adjustments a
           WHERE a.adjustment_id = x.adjustment_id AND a.tenant_key = x.tenant_key
             AND a.corrects_period_key = x.corrects_period_key AND a.booked_period_key = x.booked_period_key))
         OR (x.line_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM manual_lines m
           WHERE m.line_id = x.line_id AND m.tenant_key = x.tenant_key AND m.period_key = x.corrects_period_key
             AND x.card_key IS NULL AND x.credits_delta = 0 AND x.amount_minor IS NOT NULL
             AND x.booked_period_key > x.corrects_period_key))
         OR NOT EXISTS (SELECT 1 FROM periods p WHERE p.period_key = x.corrects_period_key)
         OR NOT EXISTS (SELECT 1 FROM periods p WHERE p.period_key = x.booked_period_key) LIMIT 10`,
    )
    .all() as { correctionId: number }[];
  for (const { correctionId } of rows) {
    yield `correction ${correctionId} refers to an adjustment or line of another tenant or period`;
  }
}
