import { isStorable, PeriodPricer } from '../../../billing/rates/period-pricer.ts';
import { oncePerKey } from '../../../core/one-at-a-time.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import {
  adjustments,
  type CorrectionCause,
  chargeCorrections,
  charges,
  closedUsage,
  rateCards,
} from '../../store/schema/billing-tables.ts';
import { and, asc, eq, isNull, placeholders, prepared, query, sql } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS, periodOfKey } from '../../store/schema/keys.ts';
import { tenantUsage, usageEntries } from '../../store/schema/run-tables.ts';
import { findPeriod, tenantIdOf, workspaceOfPeriod } from '../../store/subjects.ts';
import { ensureBookingPeriod } from '../close/adjustments.ts';
import type { PeriodAtEvent } from '../close/close-period.ts';
import { cardsAt, type StoredCard } from './card-store.ts';

export interface ChargedKey {
  periodKey: number;
  tenantKey: number;
}

/** The amount, priced by one card, that a tenant still has to be charged. A negative amount has to be credited. */
export interface Difference {
  /** The card; null when no card prices the tenant. */
  cardKey: number | null;
  credits: bigint;
  /** The amount; null when it cannot be priced. */
  amountMinor: bigint | null;
}

export interface CorrectionBooking {
  bookedPeriodKey: number;
  cause: CorrectionCause;
  adjustmentId: number | null;
}

const insertCorrection = prepared((db) =>
  db.insert(chargeCorrections).values({
    ...placeholders(['bookedPeriodKey', 'tenantKey', 'correctsPeriodKey', 'cardKey', 'creditsDelta', 'amountMinor']),
    ...placeholders(['cause', 'adjustmentId']),
  }),
);

/**
 * Books corrections under one rule: a tenant's charge for a period and all corrections of it sum to the amount due. In
 * a closed period, the charge is frozen, and the amount due is the price of the current figures by the cards of the
 * close. In an open period, the charge is recomputed from the figures and is the amount due, so that corrections must
 * sum to zero. `correctLine` applies the same rule to each manual line.
 */
export class ChargeBook {
  readonly #connection: LedgerDb;
  readonly #insert;
  readonly #close = oncePerKey((periodKey: number) => this.#closeOf(periodKey));

  constructor(connection: LedgerDb) {
    this.#connection = connection;
    this.#insert = insertCorrection(connection);
  }

  /**
   * Books the difference between the amount due for a key and the amounts already charged. Books nothing when they are
   * equal.
   */
  chargeDifference(key: ChargedKey, booking: CorrectionBooking): void {
    for (const difference of this.differences(key)) this.book(key, difference, booking);
  }

  book(
    { periodKey, tenantKey }: ChargedKey,
    { cardKey, credits, amountMinor }: Difference,
    booking: CorrectionBooking,
  ): void {
    const { bookedPeriodKey, cause, adjustmentId } = booking;
    const figures = { cardKey, creditsDelta: credits, amountMinor };
    this.#insert.run({ bookedPeriodKey, tenantKey, correctsPeriodKey: periodKey, ...figures, cause, adjustmentId });
  }

  /** Returns the amount due minus the amounts charged, for each currency in which they differ. */
  differences(key: ChargedKey): Difference[] {
    const booked = correctionsOf(this.#connection).all({ ...key });
    const close = this.#close(key.periodKey);
    // A period that was closed without cards is never priced.
    if (booked.length === 0 && (close === null || close.cards.size === 0)) return [];
    const due = new Map<string | null, Difference>();
    let credits = 0n;
    for (const { currency, cardKey, creditsDelta, amountMinor } of booked) {
      credits -= creditsDelta;
      const before = due.get(currency)?.amountMinor ?? 0n;
      due.set(currency, { cardKey, credits: 0n, amountMinor: before - (amountMinor ?? 0n) });
    }
    const last = booked.at(-1) ?? { cardKey: null, currency: null };
    const outstanding = close === null ? { ...last, credits: 0n, amountMinor: 0n } : this.#amountDue(key, close);
    const back = due.get(outstanding.currency)?.amountMinor ?? 0n;
    due.set(outstanding.currency, {
      cardKey: outstanding.cardKey,
      credits: credits + outstanding.credits,
      amountMinor: outstanding.amountMinor === null ? null : outstanding.amountMinor + back,
    });
    return [...due.values()]
      .filter((one) => one.credits !== 0n || (one.amountMinor ?? 0n) !== 0n)
      .map((one) => (one.cardKey !== null && isStorable(one.amountMinor ?? 0n) ? one : { ...one, amountMinor: null }));
  }

  /** Returns the correction due for a key of a closed period: today's charge minus the one that the close froze. */
  #amountDue({ periodKey, tenantKey }: ChargedKey, { cards, pricer }: CorrectedClose) {
    const key = { periodKey, tenantKey };
    const now = usageNow(this.#connection).get(key);
    const frozen = usageFrozen(this.#connection).get(key)?.creditsUsed ?? 0n;
    const credits = (now?.creditsUsed ?? 0n) - frozen;
    const charged = ownCharge(this.#connection).get(key);
    const present = now !== undefined && now.withdrawn === 0;
    const used = { credits: now?.creditsUsed ?? 0n, requests: now?.requestCount ?? 0n };
    const card = charged === undefined ? null : cards.get(charged.cardKey);
    const priced =
      card == null
        ? pricer.price(tenantIdOf(this.#connection, tenantKey), used, present)
        : pricer.priceByCard(card, used, present);
    if (priced === null) return { credits, cardKey: null, currency: null, amountMinor: null };
    const { cardKey, currency } = priced.card;
    const amountMinor = priced.charge === null ? null : priced.charge.amountMinor - (charged?.amountMinor ?? 0n);
    return { credits, cardKey, currency, amountMinor };
  }

  #closeOf(periodKey: number): CorrectedClose | null {
    const closedSeq = findPeriod(this.#connection, periodKey)?.closedSeq ?? null;
    if (closedSeq === null) return null;
    const cards = cardsAt(this.#connection, closedSeq);
    const { workspaceId } = workspaceOfPeriod(this.#connection, periodKey);
    const pricer = new PeriodPricer(cards, workspaceId, periodOfKey(periodKey));
    return { cards: new Map(cards.map((card) => [card.cardKey, card])), pricer };
  }
}

interface CorrectedClose {
  cards: ReadonlyMap<number, StoredCard>;
  pricer: PeriodPricer<StoredCard>;
}

/** Books a correction for each adjustment of a run: the change in the amount due for the closed period. */
export function correctByRun(connection: LedgerDb, { runKey }: { runKey: number }): void {
  const { adjustmentId, correctsPeriodKey: periodKey, bookedPeriodKey, tenantKey } = adjustments;
  const adjusted = query(connection)
    .select({ adjustmentId, periodKey, bookedPeriodKey, tenantKey, kind: usageEntries.kind })
    .from(adjustments)
    .innerJoin(usageEntries, eq(usageEntries.entryId, adjustments.entryId))
    .where(eq(adjustments.runKey, runKey))
    .orderBy(asc(adjustmentId))
    .all();
  const book = new ChargeBook(connection);
  for (const { kind, periodKey, tenantKey, ...booking } of adjusted) {
    book.chargeDifference({ periodKey, tenantKey }, { ...booking, cause: CAUSE_OF_KIND[kind] ?? 'usage' });
  }
}

const CAUSE_OF_KIND: Readonly<Record<number, CorrectionCause>> = {
  [ENTRY_KINDS.withdrawn]: 'withdrawal',
  [ENTRY_KINDS.restored]: 'return',
};

/** Lists the keys of a period that have corrections, ordered by tenant. */
function correctedKeys(connection: LedgerDb, periodKey: number): ChargedKey[] {
  const { tenantKey, correctsPeriodKey } = chargeCorrections;
  const found = query(connection).selectDistinct({ tenantKey }).from(chargeCorrections);
  const rows = found.where(eq(correctsPeriodKey, periodKey)).orderBy(asc(tenantKey)).all();
  return rows.map((row) => ({ periodKey, tenantKey: row.tenantKey }));
}

/**
 * Reverses the corrections of a reopened period, because the charge of an open period is the whole amount due. A
 * reversal is booked in the period in which the tenant's adjustments are reversed or, if there are none, in the first
 * open period.
 */
export function correctByReopen(connection: LedgerDb, { periodKey, eventSeq }: PeriodAtEvent): void {
  const { adjustmentId, bookedPeriodKey, tenantKey } = adjustments;
  const book = new ChargeBook(connection);
  for (const key of correctedKeys(connection, periodKey)) {
    const isOwn = and(eq(adjustments.eventSeq, eventSeq), eq(tenantKey, key.tenantKey));
    for (const difference of book.differences(key)) {
      const adjusted = query(connection).select({ adjustmentId, bookedPeriodKey }).from(adjustments).where(isOwn).get();
      const beside = adjusted ?? {
        adjustmentId: null,
        bookedPeriodKey: ensureBookingPeriod(connection, periodKey),
      };
      book.book(key, difference, { ...beside, cause: 'reopen' });
    }
  }
}

const key = { periodKey: sql.placeholder('periodKey'), tenantKey: sql.placeholder('tenantKey') };

const correctionsOf = prepared((db) => {
  const { cardKey, correctionId, creditsDelta, amountMinor, correctsPeriodKey, tenantKey, lineId } = chargeCorrections;
  return db
    .select({ cardKey, creditsDelta, amountMinor, currency: rateCards.currency })
    .from(chargeCorrections)
    .leftJoin(rateCards, eq(rateCards.cardKey, cardKey))
    .where(and(eq(correctsPeriodKey, key.periodKey), eq(tenantKey, key.tenantKey), isNull(lineId)))
    .orderBy(asc(correctionId));
});

const usageNow = prepared((db) => {
  const { periodKey, tenantKey } = tenantUsage;
  const isKey = and(eq(periodKey, key.periodKey), eq(tenantKey, key.tenantKey));
  return db.select().from(tenantUsage).where(isKey);
});

const usageFrozen = prepared((db) => {
  const { periodKey, tenantKey } = closedUsage;
  const isKey = and(eq(periodKey, key.periodKey), eq(tenantKey, key.tenantKey));
  return db.select().from(closedUsage).where(isKey);
});

const ownCharge = prepared((db) => {
  const { periodKey, tenantKey } = charges;
  const isKey = and(eq(periodKey, key.periodKey), eq(tenantKey, key.tenantKey));
  return db.select().from(charges).where(isKey);
});
