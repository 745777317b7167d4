import { onceEach } from '../../core/one-at-a-time.ts';
import type { Period } from '../../core/period.ts';
import { type Charge, NO_CHARGE, pricerOf } from './charge.ts';
import { type CardChooser, chooserFor } from './rate-book.ts';
import type { RateCard } from './rate-card.ts';

/** Prices tenants of one workspace and period by the cards that are given, each card prepared once. */
export class PeriodPricer<Card extends RateCard> {
  readonly #choose: CardChooser<Card>;
  readonly #pricerOf = onceEach(pricerOf);

  constructor(cards: readonly Card[], workspaceId: string, period: Period) {
    this.#choose = chooserFor(cards, workspaceId, period);
  }

  /** The charge and its card; null when no card prices the tenant. Without a record there is nothing to pay. */
  price(tenantId: string, credits: bigint, present: boolean): { card: Card; charge: Charge } | null {
    const card = this.#choose(tenantId);
    if (card === null) return null;
    if (!present) return { card, charge: NO_CHARGE };
    return { card, charge: this.#pricerOf(card)(credits) };
  }
}
