import { LARGEST_FIGURE } from '../../core/figure.ts';
import { isCurrency } from '../../core/money.ts';
import { oncePerKey } from '../../core/one-at-a-time.ts';
import type { Period } from '../../core/period.ts';
import { matchesPattern } from '../../core/text/patterns.ts';
import { type Charge, NO_CHARGE, pricerOf } from './charge.ts';
import type { RateCard } from './rate-card.ts';

/** A card and what it charges; null: that cannot be said, in 64 bits of a currency that is known. */
export interface Priced<Card extends RateCard> {
  card: Card;
  charge: Charge | null;
}

export interface Used {
  credits: bigint;
  requests: bigint;
}

/** Prices tenants of one workspace and period by the cards that are given, each card prepared once. */
export class PeriodPricer<Card extends RateCard> {
  readonly #choose: CardChooser<Card>;
  readonly #pricerOf = oncePerKey((card: RateCard) => (isCurrency(card.currency) ? pricerOf(card) : null));

  readonly #tied: (tenantId: string) => Card[];
  /** The card that prices every tenant; null when that depends on the tenant, or there is none. */
  readonly cardOfAll: Card | null;

  constructor(cards: readonly Card[], workspaceId: string, period: Period) {
    this.#choose = chooserFor(cards, workspaceId, period);
    this.#tied = (tenantId) => tiedCards(cards, { workspaceId, period, tenantId });
    const [first, second] = fittingCards(cards, workspaceId, period);
    const fitsAll = first?.tenant === null && (second === undefined || !isTied(first, second));
    this.cardOfAll = fitsAll ? first : null;
  }

  /** Null when no card prices the tenant. Without a record there is nothing to pay. */
  price(tenantId: string, used: Used, present: boolean): Priced<Card> | null {
    const card = this.#choose(tenantId);
    return card === null ? null : this.priceBy(card, used, present);
  }

  /** Why a tenant that some card fits is left unpriced, in words; null when it is priced, or no card fits. */
  whyUnpriced(tenantId: string, used: Used): string | null {
    const tied = this.#tied(tenantId).map(({ name }) => JSON.stringify(name));
    if (tied.length > 0) return `cards ${tied.join(' and ')} fit alike`;
    const priced = this.price(tenantId, used, true);
    if (priced === null || priced.charge !== null) return null;
    const { name, currency } = priced.card;
    const by = `by card ${JSON.stringify(name)}`;
    return isCurrency(currency) ? `its amount ${by} is beyond 64 bits` : `nobody knows the currency ${currency} ${by}`;
  }

  priceBy(card: Card, { credits, requests }: Used, present: boolean): Priced<Card> {
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

/** Gives the card that prices a tenant of one workspace in one period, or null when none does or several fit alike. */
type CardChooser<Card extends RateCard = RateCard> = (tenantId: string) => Card | null;

/**
 * Chooses among cards for one workspace and period. A tenant's id comes before every pattern; then counts the priority; then
 * the more specific: the pattern with more characters beside its stars, with fewer stars, a pattern before every tenant;
 * then the card of this workspace before one for all; then the latest `fromPeriod`.
 */
export function chooserFor<Card extends RateCard>(
  cards: readonly Card[],
  workspaceId: string,
  period: Period,
): CardChooser<Card> {
  const fitting = fittingCards(cards, workspaceId, period);
  const byId = Map.groupBy(
    fitting.filter(({ tenant }) => isId(tenant)),
    ({ tenant }) => tenant,
  );
  const others = fitting.filter(({ tenant }) => !isId(tenant));
  return (tenantId) => {
    const [best, next] = byId.get(tenantId) ?? firstTwo(others, tenantId);
    return best === undefined || (next !== undefined && isTied(best, next)) ? null : best;
  };
}

/** The cards that fit a tenant alike, so that none of them prices it; empty when there is no tie. */
export function tiedCards<Card extends RateCard>(
  cards: readonly Card[],
  { workspaceId, period, tenantId }: { workspaceId: string; period: Period; tenantId: string },
): Card[] {
  const fitting = fittingCards(cards, workspaceId, period).filter((card) => fitsTenant(card, tenantId));
  const tied = fitting.filter((card) => fitting[0] !== undefined && isTied(fitting[0], card));
  return tied.length > 1 ? tied : [];
}

/** The cards of a workspace and period, the one that counts first. */
function fittingCards<Card extends RateCard>(cards: readonly Card[], workspaceId: string, period: Period): Card[] {
  return cards
    .filter((card) => card.workspace === null || card.workspace === workspaceId)
    .filter((card) => card.fromPeriod <= period && (card.toPeriod === null || card.toPeriod >= period))
    .sort(firstThatCounts);
}

function firstTwo<Card extends RateCard>(cards: readonly Card[], tenantId: string): Card[] {
  const first = cards.findIndex((card) => fitsTenant(card, tenantId));
  const best = cards[first];
  if (best === undefined) return [];
  for (let at = first + 1; at < cards.length; at += 1) {
    const next = cards[at] as Card;
    if (!isTied(best, next)) break;
    if (fitsTenant(next, tenantId)) return [best, next];
  }
  return [best];
}

function fitsTenant({ tenant }: RateCard, tenantId: string): boolean {
  return tenant === null || matchesPattern(tenant, tenantId);
}

function isTied(a: RateCard, b: RateCard): boolean {
  return firstThatCounts(a, b) === 0;
}

function firstThatCounts(a: RateCard, b: RateCard): number {
  const [one, other] = [rankOf(a), rankOf(b)];
  const differing = one.findIndex((rank, at) => rank !== other[at]);
  if (differing >= 0) return (other[differing] ?? 0) - (one[differing] ?? 0);
  return a.fromPeriod < b.fromPeriod ? 1 : a.fromPeriod > b.fromPeriod ? -1 : 0;
}

/** The larger counts first. */
function rankOf({ tenant, workspace, priority }: RateCard): number[] {
  const stars = (tenant ?? '').split('*').length - 1;
  const characters = tenant === null ? -1 : tenant.length - stars;
  return [Number(isId(tenant)), priority, characters, -stars, Number(workspace !== null)];
}

function isId(tenant: string | null): boolean {
  return tenant?.includes('*') === false;
}
