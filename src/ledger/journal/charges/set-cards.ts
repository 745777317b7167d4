import type { RateCardText } from '../../../billing/rates/rate-card-schema.ts';
import { unclearCards } from '../../../billing/rates/unclear-cards.ts';
import { AppError } from '../../../core/errors.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { type CardSource, replaceCards } from './card-store.ts';
import { chargeOpenPeriods, type PricedPeriod } from './charge-run.ts';

export interface CardsRequest {
  /** All that are to be in force. */
  cards: readonly RateCardText[];
  source: CardSource;
  nowMs: number;
}

/** How many cards have come into force and gone out of it, and what was priced anew. */
export interface CardsChange {
  added: number;
  retired: number;
  periods: PricedPeriod[];
}

/**
 * Puts rate cards into force and prices all periods that are not closed by them, in one transaction.
 *
 * @throws AppError `unclear_cards` when it is open which of two cards counts.
 */
export function setCards(connection: LedgerConnection, { cards, source, nowMs }: CardsRequest): CardsChange {
  refuseUnclear(cards);
  return connection
    .transaction(() => {
      const change = replaceCards(connection, { cards, source, nowMs });
      return { ...change, periods: change.added + change.retired > 0 ? chargeOpenPeriods(connection) : [] };
    })
    .immediate();
}

export function refuseUnclear(cards: readonly RateCardText[]): void {
  const faults = unclearCards(cards);
  if (faults.length === 0) return;
  const list = ['the rate cards leave open which one counts:', ...faults.map((fault) => `  - ${fault}`)];
  throw new AppError('unclear_cards', list.join('\n'), {
    hint: 'give one of each two a higher `priority:`, or change its `tenant:`',
  });
}
