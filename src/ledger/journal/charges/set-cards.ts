import type { RateCardText } from '../../../billing/rates/rate-card-schema.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { type CardSource, hasCards, replaceCards } from './card-store.ts';
import { chargeOpenPeriods } from './charge-run.ts';

export interface CardsRequest {
  /** All that are to be in force; null: this source has nothing to say, and only its own cards go. */
  cards: readonly RateCardText[] | null;
  source: CardSource;
  nowMs: number;
}

/** How many cards have come into force and gone out of it. */
export interface CardsChange {
  added: number;
  retired: number;
}

/** Puts rate cards into force and prices all periods that are not closed by them, in one transaction. */
export function setCards(connection: LedgerConnection, { cards, source, nowMs }: CardsRequest): CardsChange {
  if (cards === null && !hasCards(connection)) return { added: 0, retired: 0 };
  return connection
    .transaction(() => {
      const change = replaceCards(connection, { cards, source, nowMs });
      if (change.added + change.retired > 0) chargeOpenPeriods(connection);
      return change;
    })
    .immediate();
}
