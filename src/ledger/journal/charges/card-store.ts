import { createHash } from 'node:crypto';
import { type RateCard, resolveRateCard } from '../../../billing/rates/rate-card.ts';
import type { RateCardText } from '../../../billing/rates/rate-card-schema.ts';
import { isoTime } from '../../../core/clock.ts';
import { LedgerError } from '../../store/errors.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { headOfChain } from '../runs/digest.ts';

/**
 * Where cards come from. Those of the configuration take the place of all others; `moved N` came with a workspace from another
 * ledger, and hold for the links that came along, see `moved_links`.
 */
export type CardSource = 'configuration' | 'import' | `moved ${number}`;

/** A card as the ledger keeps it: what it says never changes, it only goes out of force. */
export interface StoredCard extends RateCard {
  cardKey: number;
  source: CardSource;
  recordedAt: string;
  /** SHA-256 of what it says, hex. */
  digest: string;
}

interface CardRecord {
  cardKey: number;
  definition: string;
  digest: string;
  source: CardSource;
  recordedAt: string;
}

const COLUMNS = 'card_key AS cardKey, definition, digest, source, recorded_at AS recordedAt';

/** False in a ledger that has never known a card: pricing costs it nothing. */
export function hasCards(connection: LedgerConnection): boolean {
  return connection.prepare('SELECT 1 FROM rate_cards LIMIT 1').get() !== undefined;
}

/** The cards in force now, in the order in which they were recorded. */
export function cardsInForce(connection: LedgerConnection): StoredCard[] {
  const records = connection
    .prepare(`SELECT ${COLUMNS} FROM rate_cards WHERE retired_after_seq IS NULL ORDER BY card_key`)
    .all() as CardRecord[];
  return records.map(toCard);
}

/** The cards that were in force when the link `seq` of the chain was made, such as the close of a period. */
export function cardsAt(connection: LedgerConnection, seq: number): StoredCard[] {
  const set = connection.prepare('SELECT card_set FROM moved_links WHERE seq = ?').pluck().get(seq);
  const ofSource = set === undefined ? "source NOT LIKE 'moved %'" : `source = 'moved ${Number(set)}'`;
  const records = connection
    .prepare(
      `SELECT ${COLUMNS} FROM rate_cards
       WHERE after_seq < ? AND (retired_after_seq IS NULL OR retired_after_seq >= ?) AND ${ofSource} ORDER BY card_key`,
    )
    .all(seq, seq) as CardRecord[];
  return records.map(toCard);
}

/**
 * Makes these the cards in force: new ones are added, those that say something else or are gone go out of force. Returns
 * how many were added and retired; nothing is written when they are in force already. Null is no set of cards: those of
 * the source go, all others stay.
 */
export function replaceCards(
  connection: LedgerConnection,
  { cards, source, nowMs }: { cards: readonly RateCardText[] | null; source: CardSource; nowMs: number },
): { added: number; retired: number } {
  const wanted = new Map((cards ?? []).map((card) => [digestOf(card), card]));
  const held = connection
    .prepare('SELECT card_key AS cardKey, digest, source FROM rate_cards WHERE retired_after_seq IS NULL')
    .all() as Pick<StoredCard, 'cardKey' | 'digest' | 'source'>[];
  const kept = new Set(held.filter((card) => card.source === source && wanted.has(card.digest)));
  const retired = held.filter((card) => !kept.has(card) && (cards !== null || card.source === source));
  const keptDigests = new Set([...kept].map(({ digest }) => digest));
  const added = [...wanted].filter(([digest]) => !keptDigests.has(digest));
  if (added.length === 0 && retired.length === 0) return { added: 0, retired: 0 };
  const { seq } = headOfChain(connection);
  const at = isoTime(nowMs);
  const retire = connection.prepare('UPDATE rate_cards SET retired_at = ?, retired_after_seq = ? WHERE card_key = ?');
  for (const { cardKey } of retired) retire.run(at, seq, cardKey);
  const insert = connection.prepare(
    `INSERT INTO rate_cards (name, currency, digest, definition, source, recorded_at, after_seq)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  for (const [digest, card] of added) {
    insert.run(card.name, card.currency, digest, JSON.stringify(card), source, at, seq);
  }
  return { added: added.length, retired: retired.length };
}

function digestOf(card: RateCardText): string {
  return createHash('sha256').update(JSON.stringify(card)).digest('hex');
}

/** The definition passed the schema before it was written; to load that into the writer's thread costs megabytes. */
function toCard({ cardKey, definition, digest, source, recordedAt }: CardRecord): StoredCard {
  try {
    const card = resolveRateCard(JSON.parse(definition) as RateCardText);
    return { ...card, cardKey, digest, source, recordedAt };
  } catch (cause) {
    throw new LedgerError('rate_card_damaged', `rate card ${cardKey} of the ledger cannot be read`, {
      hint: 'it was changed past the program: run `usage-ledger verify`, and restore the ledger from a backup',
      cause,
    });
  }
}
