import { LARGEST_FIGURE } from '../../core/figure.ts';
import { isCurrency } from '../../core/money.ts';
import { onceEach } from '../../core/one-at-a-time.ts';
import type { Period } from '../../core/period.ts';
import { type Charge, NO_CHARGE, pricerOf } from './charge.ts';
import { type CardChooser, chooserFor, tiedCards } from './rate-book.ts';
import type { RateCard } from './rate-card.ts';

/** A card and what it charges; null: that cannot be said, in 64 bits of a currency that is known. */
export interface Priced<Card extends RateCard> {
  card: Card;
  charge: Charge | null;
}

/** Prices tenants of one workspace and period by the cards that are given, each card prepared once. */
export class PeriodPricer<Card extends RateCard> {
  readonly #choose: CardChooser<Card>;
  readonly #pricerOf = onceEach((card: RateCard) => (isCurrency(card.currency) ? pricerOf(card) : null));

  readonly #tied: (tenantId: string) => Card[];

  constructor(cards: readonly Card[], workspaceId: string, period: Period) {
    this.#choose = chooserFor(cards, workspaceId, period);
    this.#tied = (tenantId) => tiedCards(cards, { workspaceId, period, tenantId });
  }

  /** Null when no card prices the tenant. Without a record there is nothing to pay. */
  price(tenantId: string, credits: bigint, present: boolean): Priced<Card> | null {
    const card = this.#choose(tenantId);
    return card === null ? null : this.priceBy(card, credits, present);
  }

  /** Why a tenant that some card fits is left unpriced, in words; null when it is priced, or no card fits. */
  whyUnpriced(tenantId: string, credits: bigint): string | null {
    const tied = this.#tied(tenantId).map(({ name }) => JSON.stringify(name));
    if (tied.length > 0) return `cards ${tied.join(' and ')} fit alike`;
    const priced = this.price(tenantId, credits, true);
    if (priced === null || priced.charge !== null) return null;
    const { name, currency } = priced.card;
    const by = `by card ${JSON.stringify(name)}`;
    return isCurrency(currency) ? `its amount ${by} is beyond 64 bits` : `nobody knows the currency ${currency} ${by}`;
  }

  priceBy(card: Card, credits: bigint, present: boolean): Priced<Card> {
    if (!present) return { card, charge: NO_CHARGE };
    const charge = this.#pricerOf(card)?.(credits) ?? null;
    return { card, charge: charge !== null && isStorableCharge(charge) ? charge : null };
  }
}

/** True for an amount that a row can hold. */
export function isStorable(amountMinor: bigint): boolean {
  return amountMinor <= LARGEST_FIGURE && amountMinor >= -LARGEST_FIGURE;
}

function isStorableCharge({ amountMinor, lines }: Charge): boolean {
  return isStorable(amountMinor) && lines.every((line) => isStorable(line.amountMinor));
}
