import { createHash } from 'node:crypto';
import { conflictingCards, type RateCard, resolveRateCard } from '../../../billing/rates/rate-card.ts';
import type { RateCardText } from '../../../billing/rates/rate-card-schema.ts';
import { isoTime } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import { minorDigits } from '../../../core/money.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { type CardSide, rateCards } from '../../store/schema/billing-tables.ts';
import { and, asc, eq, gte, isNull, lt, or, query, type SQL } from '../../store/schema/drizzle.ts';
import { headOfChain } from '../runs/digest.ts';

export type CardSource = 'configuration' | 'import';

/** A card as the ledger keeps it: what it says never changes, it only goes out of force. */
export interface StoredCard extends RateCard {
  cardKey: number;
  source: CardSource;
  recordedAt: string;
  digest: string;
}

/** Whether anything is said of what the provider charges. */
export function hasCosts(connection: LedgerDb): boolean {
  const { cardKey } = rateCards;
  return query(connection).select({ cardKey }).from(rateCards).where(isInForce('cost')).limit(1).get() !== undefined;
}

/** False in a ledger that has never known a card: pricing costs it nothing. */
export function hasCards(connection: LedgerDb): boolean {
  return query(connection).select({ cardKey: rateCards.cardKey }).from(rateCards).limit(1).get() !== undefined;
}

export function cardsInForce(connection: LedgerDb, side: CardSide = 'price'): StoredCard[] {
  return readCards(connection, isInForce(side)).map(toCard);
}

/** The cards that were in force when the link `seq` of the chain was made, such as the close of a period. */
export function cardsAt(connection: LedgerDb, seq: number): StoredCard[] {
  const { afterSeq, retiredAfterSeq } = rateCards;
  const held = and(isOn('price'), lt(afterSeq, seq), or(isNull(retiredAfterSeq), gte(retiredAfterSeq, seq)));
  return readCards(connection, held).map(toCard);
}

function isOn(side: CardSide): SQL {
  return eq(rateCards.side, side);
}

function isInForce(side: CardSide): SQL | undefined {
  return and(isOn(side), isNull(rateCards.retiredAfterSeq));
}

function readCards(connection: LedgerDb, isInPeriods: SQL | undefined): CardRow[] {
  return query(connection).select().from(rateCards).where(isInPeriods).orderBy(asc(rateCards.cardKey)).all();
}

type CardRow = typeof rateCards.$inferSelect;

/** Cards that are to take the place of all of their side that are in force; null: nothing is said of that side. */
export interface GivenCards {
  rates: readonly RateCardText[] | null;
  costs: readonly RateCardText[] | null;
}

/** An empty list of a configuration says no more than none: it takes no card out of force. */
export function givenIn({ rates, costs }: GivenCards): GivenCards {
  const listed = (cards: GivenCards['rates']) => (cards?.length === 0 ? null : cards);
  return { rates: listed(rates), costs: listed(costs) };
}

/** By name, what comes into force and what goes out of it. */
export function changeOfCards(
  connection: LedgerDb,
  { rates, costs }: GivenCards,
): { added: string[]; retired: string[] } {
  const change = { added: [] as string[], retired: [] as string[] };
  for (const [side, cards] of [['price', rates] as const, ['cost', costs] as const]) {
    if (cards === null) continue;
    const { added, retired } = compareWithForce(connection, cards, side);
    const nameOf = ({ name }: { name: string }) => (side === 'cost' ? `cost: ${name}` : name);
    change.added.push(...added.map(([, card]) => nameOf(card)));
    change.retired.push(...retired.map(nameOf));
  }
  return change;
}

function compareWithForce(connection: LedgerDb, cards: readonly RateCardText[], side: CardSide) {
  const wanted = new Map(cards.map((card) => [digestOf(card), card]));
  const held = readCards(connection, isInForce(side));
  const digests = new Set(held.map(({ digest }) => digest));
  return {
    added: [...wanted].filter(([digest]) => !digests.has(digest)),
    retired: held.filter(({ digest }) => !wanted.has(digest)),
  };
}

interface CardsOfSide {
  cards: readonly RateCardText[];
  side?: CardSide;
  source: CardSource;
  nowMs: number;
}

/**
 * Makes these the cards in force of their side: new ones are added, those that say something else or are gone go out of force. Returns
 * how many were added and retired; nothing is written when they are in force already, wherever they came from.
 */
export function replaceCards(
  connection: LedgerDb,
  { cards, side = 'price', source, nowMs }: CardsOfSide,
): { added: number; retired: number } {
  const { added, retired } = compareWithForce(connection, cards, side);
  if (added.length === 0 && retired.length === 0) return { added: 0, retired: 0 };
  const { seq } = headOfChain(connection);
  const at = isoTime(nowMs);
  const db = query(connection);
  for (const { cardKey } of retired) {
    db.update(rateCards).set({ retiredAt: at, retiredAfterSeq: seq }).where(eq(rateCards.cardKey, cardKey)).run();
  }
  for (const [digest, card] of added) {
    const { name, currency } = card;
    const definition = JSON.stringify(card);
    const minorUnits = 10 ** minorDigits(currency);
    db.insert(rateCards)
      .values({ name, currency, digest, definition, source, recordedAt: at, afterSeq: seq, minorUnits, side })
      .run();
  }
  return { added: added.length, retired: retired.length };
}

function digestOf(card: RateCardText): string {
  return createHash('sha256').update(JSON.stringify(card)).digest('hex');
}

/** The definition passed the schema before it was written; to load that into the writer's thread costs megabytes. */
function toCard({ cardKey, definition, digest, source, recordedAt }: CardRow): StoredCard {
  try {
    const card = resolveRateCard(JSON.parse(definition) as RateCardText);
    return { ...card, cardKey, digest, source: source as CardSource, recordedAt };
  } catch (cause) {
    throw new LedgerError('rate_card_damaged', `rate card ${cardKey} of the ledger cannot be read`, {
      hint: 'it was changed past the program: run `usage-ledger verify`, and restore the ledger from a backup',
      cause,
    });
  }
}

export function refuseUnclear(cards: readonly RateCardText[]): void {
  const faults = conflictingCards(cards);
  if (faults.length === 0) return;
  const list = ['the rate cards leave open which one counts:', ...faults.map((fault) => `  - ${fault}`)];
  throw new AppError('unclear_cards', list.join('\n'), {
    hint: 'give one of each two a higher `priority:`, or change its `tenant:`',
  });
}
