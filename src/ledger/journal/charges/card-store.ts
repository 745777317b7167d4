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

/** A rate card or cost card in the ledger. Its definition never changes; a card can only be retired. */
export interface StoredCard extends RateCard {
  cardKey: number;
  source: CardSource;
  recordedAt: string;
  digest: string;
}

/** Reports whether a cost card is in force. */
export function hasCosts(connection: LedgerDb): boolean {
  const { cardKey } = rateCards;
  return query(connection).select({ cardKey }).from(rateCards).where(isInForce('cost')).limit(1).get() !== undefined;
}

/** Reports whether the ledger has ever had a card. If not, nothing is priced. */
export function hasCards(connection: LedgerDb): boolean {
  return query(connection).select({ cardKey: rateCards.cardKey }).from(rateCards).limit(1).get() !== undefined;
}

export function cardsInForce(connection: LedgerDb, side: CardSide = 'price'): StoredCard[] {
  return readStoredCards(connection, isInForce(side)).map(toCard);
}

/** Lists the cards that were in force at the link `seq` of the chain, for example at the close of a period. */
export function cardsAt(connection: LedgerDb, seq: number): StoredCard[] {
  const { afterSeq, retiredAfterSeq } = rateCards;
  const held = and(sideCondition('price'), lt(afterSeq, seq), or(isNull(retiredAfterSeq), gte(retiredAfterSeq, seq)));
  return readStoredCards(connection, held).map(toCard);
}

function sideCondition(side: CardSide): SQL {
  return eq(rateCards.side, side);
}

function isInForce(side: CardSide): SQL | undefined {
  return and(sideCondition(side), isNull(rateCards.retiredAfterSeq));
}

function readStoredCards(connection: LedgerDb, isInPeriods: SQL | undefined): StoredCardRow[] {
  return query(connection).select().from(rateCards).where(isInPeriods).orderBy(asc(rateCards.cardKey)).all();
}

type StoredCardRow = typeof rateCards.$inferSelect;

/**
 * New rate cards and new cost cards. Each list replaces all cards of its kind that are in force. If a list is null, the
 * cards of that kind are unchanged.
 */
export interface ReplacementCards {
  rates: readonly RateCardText[] | null;
  costs: readonly RateCardText[] | null;
}

/** Returns the cards of a configuration. An empty list becomes null, so that it retires no card. */
export function cardsInConfig({ rates, costs }: ReplacementCards): ReplacementCards {
  const listed = (cards: ReplacementCards['rates']) => (cards?.length === 0 ? null : cards);
  return { rates: listed(rates), costs: listed(costs) };
}

/** Returns the names of the cards that would come into force, and the names of the cards that would be retired. */
export function compareCardsWithForce(
  connection: LedgerDb,
  { rates, costs }: ReplacementCards,
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
  const wanted = new Map(cards.map((card) => [cardDigest(card), card]));
  const held = readStoredCards(connection, isInForce(side));
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
 * Makes these cards the only rate cards, or the only cost cards, in force: adds new cards and retires those that
 * changed or are missing. Returns the numbers of added and retired cards. Writes nothing when the same cards are in
 * force, whatever their source.
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

function cardDigest(card: RateCardText): string {
  return createHash('sha256').update(JSON.stringify(card)).digest('hex');
}

/**
 * Parses a stored card without validating it: the definition was validated before it was written, and loading the
 * schema into the writer's thread costs megabytes.
 */
function toCard({ cardKey, definition, digest, source, recordedAt }: StoredCardRow): StoredCard {
  try {
    const card = resolveRateCard(JSON.parse(definition) as RateCardText);
    return { ...card, cardKey, digest, source: source as CardSource, recordedAt };
  } catch (cause) {
    throw new LedgerError('rate_card_damaged', `rate card ${cardKey} of the ledger cannot be read`, {
      hint: 'another program has changed it: run `usage-ledger verify`, then restore the ledger from a backup',
      cause,
    });
  }
}

export function refuseAmbiguousCards(cards: readonly RateCardText[]): void {
  const faults = conflictingCards(cards);
  if (faults.length === 0) return;
  const list = ['the rate cards are ambiguous:', ...faults.map((fault) => `  - ${fault}`)];
  throw new AppError('unclear_cards', list.join('\n'), {
    hint: 'give one of each pair a higher `priority:`, or change its `tenant:`',
  });
}
