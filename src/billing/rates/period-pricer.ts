import { LARGEST_FIGURE } from '../../core/figure.ts';
import { isCurrency } from '../../core/money.ts';
import { oncePerKey } from '../../core/one-at-a-time.ts';
import type { Period } from '../../core/period.ts';
import { matchesPattern } from '../../core/text/patterns.ts';
import { type Charge, createPricer, NO_CHARGE } from './charge.ts';
import type { RateCard } from './rate-card.ts';

/**
 * The rate card that prices a tenant, and the charge. The charge is null if the card's currency is unknown or if an
 * amount exceeds 64 bits.
 */
export interface Priced<Card extends RateCard> {
  card: Card;
  charge: Charge | null;
}

export interface PricedUsage {
  credits: bigint;
  requests: bigint;
}

/** Prices the tenants of one workspace and period. The prices of each card are parsed only once. */
export class PeriodPricer<Card extends RateCard> {
  readonly #choose: CardChooser<Card>;
  readonly #pricerOf = oncePerKey((card: RateCard) => (isCurrency(card.currency) ? createPricer(card) : null));

  readonly #tied: (tenantId: string) => Card[];
  /** The card that prices all tenants; null if the card depends on the tenant, or if no single card matches best. */
  readonly cardForAll: Card | null;

  constructor(cards: readonly Card[], workspaceId: string, period: Period) {
    this.#choose = createCardChooser(cards, workspaceId, period);
    this.#tied = (tenantId) => tiedCards(cards, { workspaceId, period, tenantId });
    const [first, second] = matchingCards(cards, workspaceId, period);
    const isForAll = first?.tenant === null && (second === undefined || !isTied(first, second));
    this.cardForAll = isForAll ? first : null;
  }

  /**
   * Prices a tenant's usage. `present` is true if the tenant has a record in the period; otherwise nothing is charged.
   * Returns null if no card prices the tenant.
   */
  price(tenantId: string, used: PricedUsage, present: boolean): Priced<Card> | null {
    const card = this.#choose(tenantId);
    return card === null ? null : this.priceByCard(card, used, present);
  }

  /**
   * Returns the reason why a tenant has no price although a card matches. Returns null if the tenant has a price or if
   * no card matches.
   */
  explainUnpriced(tenantId: string, used: PricedUsage): string | null {
    const tied = this.#tied(tenantId).map(({ name }) => JSON.stringify(name));
    if (tied.length > 0) return `cards ${tied.join(' and ')} match equally`;
    const priced = this.price(tenantId, used, true);
    if (priced === null || priced.charge !== null) return null;
    const { name, currency } = priced.card;
    const by = `by card ${JSON.stringify(name)}`;
    return isCurrency(currency) ? `its amount ${by} exceeds 64 bits` : `the currency ${currency} ${by} is unknown`;
  }

  priceByCard(card: Card, { credits, requests }: PricedUsage, present: boolean): Priced<Card> {
    if (!present) return { card, charge: NO_CHARGE };
    const charge = this.#pricerOf(card)?.(credits, requests) ?? null;
    return { card, charge: charge !== null && isStorableCharge(charge) ? charge : null };
  }
}

export function isStorable(amountMinor: bigint): boolean {
  return amountMinor <= LARGEST_FIGURE && amountMinor >= -LARGEST_FIGURE;
}

function isStorableCharge({ amountMinor, lines }: Charge): boolean {
  return isStorable(amountMinor) && lines.every((line) => isStorable(line.amountMinor));
}

/**
 * Returns the card that prices a tenant in one workspace and period. Returns null if no card matches or several match
 * equally well.
 */
type CardChooser<Card extends RateCard = RateCard> = (tenantId: string) => Card | null;

/**
 * Returns a function that chooses the card for a tenant in one workspace and period. If several cards match, these
 * rules decide, in this order: a card for the tenant's id before a card with a pattern or for all tenants; the higher
 * priority; the more specific pattern (more characters that are not stars, then fewer stars; a card for all tenants is
 * last); a card for this workspace before one for all workspaces; the latest `fromPeriod`.
 */
export function createCardChooser<Card extends RateCard>(
  cards: readonly Card[],
  workspaceId: string,
  period: Period,
): CardChooser<Card> {
  const matching = matchingCards(cards, workspaceId, period);
  const byId = Map.groupBy(
    matching.filter(({ tenant }) => isId(tenant)),
    ({ tenant }) => tenant,
  );
  const others = matching.filter(({ tenant }) => !isId(tenant));
  return (tenantId) => {
    const [best, next] = byId.get(tenantId) ?? firstTwo(others, tenantId);
    return best === undefined || (next !== undefined && isTied(best, next)) ? null : best;
  };
}

/**
 * Returns the cards that match a tenant equally well, so that no card prices the tenant. Returns none if one card
 * matches best.
 */
export function tiedCards<Card extends RateCard>(
  cards: readonly Card[],
  { workspaceId, period, tenantId }: { workspaceId: string; period: Period; tenantId: string },
): Card[] {
  const matching = matchingCards(cards, workspaceId, period).filter((card) => matchesTenant(card, tenantId));
  const tied = matching.filter((card) => matching[0] !== undefined && isTied(matching[0], card));
  return tied.length > 1 ? tied : [];
}

/** Returns the cards that apply to a workspace and period, the card that takes precedence first. */
function matchingCards<Card extends RateCard>(cards: readonly Card[], workspaceId: string, period: Period): Card[] {
  return cards
    .filter((card) => card.workspace === null || card.workspace === workspaceId)
    .filter((card) => card.fromPeriod <= period && (card.toPeriod === null || card.toPeriod >= period))
    .sort(byPrecedence);
}

function firstTwo<Card extends RateCard>(cards: readonly Card[], tenantId: string): Card[] {
  const first = cards.findIndex((card) => matchesTenant(card, tenantId));
  const best = cards[first];
  if (best === undefined) return [];
  for (let at = first + 1; at < cards.length; at += 1) {
    const next = cards[at] as Card;
    if (!isTied(best, next)) break;
    if (matchesTenant(next, tenantId)) return [best, next];
  }
  return [best];
}

function matchesTenant({ tenant }: RateCard, tenantId: string): boolean {
  return tenant === null || matchesPattern(tenant, tenantId);
}

function isTied(a: RateCard, b: RateCard): boolean {
  return byPrecedence(a, b) === 0;
}

function byPrecedence(a: RateCard, b: RateCard): number {
  const [one, other] = [rankOf(a), rankOf(b)];
  const differing = one.findIndex((rank, at) => rank !== other[at]);
  if (differing >= 0) return (other[differing] ?? 0) - (one[differing] ?? 0);
  return a.fromPeriod < b.fromPeriod ? 1 : a.fromPeriod > b.fromPeriod ? -1 : 0;
}

/**
 * Returns the values by which the precedence of a card is decided. They are compared in order, and the larger value
 * wins.
 */
function rankOf({ tenant, workspace, priority }: RateCard): number[] {
  const stars = (tenant ?? '').split('*').length - 1;
  const characters = tenant === null ? -1 : tenant.length - stars;
  return [Number(isId(tenant)), priority, characters, -stars, Number(workspace !== null)];
}

function isId(tenant: string | null): boolean {
  return tenant?.includes('*') === false;
}
