import { z } from 'zod';
import { cardsInForce, type StoredCard } from '../../ledger/journal/charges/card-store.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { CARD_SIDES, type CardSide } from '../../ledger/store/schema/billing-tables.ts';
import type { Column } from '../../reports/formats/columns.ts';
import { listOperation, type RowKey, rowsAfter } from '../operation.ts';
import { periodText, rowSchema } from '../schemas.ts';

export type CardRow = ReturnType<typeof cardRow>;

function cardRow(card: StoredCard, side: CardSide) {
  return {
    name: card.name,
    side,
    from_period: card.fromPeriod,
    to_period: card.toPeriod,
    workspace: card.workspace,
    tenant: card.tenant,
    currency: card.currency,
    model: card.pricing.model,
    price_per_request: card.pricePerRequest,
    source: card.source,
    recorded_at: card.recordedAt,
    digest: card.digest,
  };
}

export const CARD_COLUMNS: readonly Column<CardRow>[] = [
  { name: 'name', kind: 'text', header: 'Card' },
  { name: 'side', kind: 'text', header: 'Side' },
  { name: 'from_period', kind: 'text', header: 'From' },
  { name: 'to_period', kind: 'text', header: 'To' },
  { name: 'workspace', kind: 'id', header: 'Workspace', words: (workspace) => workspace ?? 'all' },
  { name: 'tenant', kind: 'id', header: 'Tenant', words: (tenant) => tenant ?? 'all' },
  { name: 'currency', kind: 'text', header: 'Currency' },
  { name: 'model', kind: 'text', header: 'Pricing' },
  { name: 'price_per_request', kind: 'price', header: 'Per request', sparse: true },
  { name: 'source', kind: 'text', header: 'Source' },
  { name: 'recorded_at', kind: 'date' },
  { name: 'digest', kind: 'id' },
];

export const listRates = listOperation({
  name: 'rates.list',
  summary: 'List the active rate cards: prices and provider costs',
  details:
    'Use it for questions about prices: which card applies from which month, in which currency, for which tenants. `side` is `price` for customers and `cost` for the provider. views_read with `rate_cards` has the whole definition and retired cards.',
  role: 'read',
  input: z.strictObject({ period: periodText.optional().describe('only cards of this month') }),
  http: { method: 'GET', path: '/rates' },
  command: 'rates list',
  title: 'rates',
  member: 'rows',
  head: z.strictObject({}),
  row: rowSchema(CARD_COLUMNS, ['to_period', 'workspace', 'tenant', 'price_per_request']),
  columns: CARD_COLUMNS,
  keyOf,
  run({ connection }, { period }, page) {
    const matching = activeCards(connection).filter((card) => period === undefined || coversPeriod(card, period));
    return { head: {}, rows: rowsAfter(matching, keyOf, page) };
  },
});

/** Returns all active rate cards: first the cards with prices, then the cards with the provider's costs. */
export function activeCards(connection: LedgerDb): CardRow[] {
  return CARD_SIDES.flatMap((side) => cardsInForce(connection, side).map((card) => cardRow(card, side)));
}

function keyOf({ side, digest }: CardRow): RowKey {
  return [side, digest];
}

/** Reports whether a card covers a period. Periods are written YYYY-MM, so they can be compared as text. */
function coversPeriod({ from_period, to_period }: CardRow, period: string): boolean {
  return from_period <= period && (to_period === null || period <= to_period);
}
