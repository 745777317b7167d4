import type { Period } from '../../../core/period.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { chargeCorrections } from '../../store/schema/billing-tables.ts';
import { adjustments } from '../../store/schema/close-tables.ts';
import { union } from '../../store/schema/drizzle.ts';
import { isCharged, markCharged } from '../../store/schema/identity.ts';
import { periodOfKey } from '../../store/schema/keys.ts';
import { tenantIdOf, workspaceOf } from '../../store/subjects.ts';
import { bookingPeriodKey } from '../close/adjustments.ts';
import { hasCards } from './card-store.ts';
import { ChargeBook, type ChargedKey } from './corrections.ts';

/** By what a tenant's documents about a period differ from what it owes, since before that was looked at. */
export interface Unsettled {
  workspaceId: string;
  tenantId: string;
  period: Period;
  credits: bigint;
  amountMinor: bigint;
  currency: string;
}

/**
 * Once in the life of a ledger: what was charged otherwise than it is owed is written down, and booked nowhere, because what
 * an older version has told customers is theirs to be told of first.
 */
export function noteUnsettled(connection: LedgerConnection): void {
  if (isCharged(connection)) return;
  connection
    .transaction(() => {
      if (isCharged(connection)) return;
      if (hasCards(connection)) noteDifferences(connection);
      markCharged(connection);
    })
    .immediate();
}

function noteDifferences(connection: LedgerConnection): void {
  const db = query(connection);
  const keysOf = (table: typeof adjustments | typeof chargeCorrections) =>
    db.select({ periodKey: table.correctsPeriodKey, tenantKey: table.tenantKey }).from(table);
  const keys = union(keysOf(adjustments), keysOf(chargeCorrections)).all();
  const book = new ChargeBook(connection);
  for (const key of keys) {
    for (const difference of book.differences(key)) {
      // What has no price differs by nothing that could be booked.
      if (difference.amountMinor === null) continue;
      book.book(key, difference, { bookedPeriodKey: null, cause: 'unsettled', adjustmentId: null });
    }
  }
}

/** What `settleCharges` would book. */
export function readUnsettled(connection: LedgerConnection): Unsettled[] {
  return sumUnsettled(connection).map(({ periodKey, tenantKey, credits, amountMinor, currency }) => ({
    workspaceId: workspaceOf(connection, periodKey).workspaceId,
    tenantId: tenantIdOf(connection, tenantKey),
    period: periodOfKey(periodKey),
    ...{ credits, amountMinor, currency },
  }));
}

/** Books it, each in the first period that is not closed after the one that it is about. */
export function settleCharges(connection: LedgerConnection, { nowMs }: { nowMs: number }): Unsettled[] {
  return connection
    .transaction(() => {
      const settled = readUnsettled(connection);
      const book = new ChargeBook(connection);
      for (const { periodKey, tenantKey, cardKey, credits, amountMinor } of sumUnsettled(connection)) {
        const key = { periodKey, tenantKey };
        const booked = { bookedPeriodKey: bookingPeriodKey(connection, periodKey, nowMs), adjustmentId: null };
        book.book(key, { cardKey, credits, amountMinor }, { ...booked, cause: 'settlement' });
        const noted = { cardKey, credits: -credits, amountMinor: -amountMinor };
        book.book(key, noted, { bookedPeriodKey: null, adjustmentId: null, cause: 'settlement' });
      }
      return settled;
    })
    .immediate();
}

interface UnsettledSum extends ChargedKey {
  cardKey: number;
  credits: bigint;
  amountMinor: bigint;
  currency: string;
}

function sumUnsettled(connection: LedgerConnection): UnsettledSum[] {
  const rows = connection
    .prepare(
      `SELECT x.corrects_period_key AS periodKey, x.tenant_key AS tenantKey, max(x.card_key) AS cardKey,
         sum(x.credits_delta) AS credits, sum(x.amount_minor) AS amountMinor, k.currency
       FROM charge_corrections x JOIN rate_cards k ON k.card_key = x.card_key
       WHERE x.booked_period_key IS NULL GROUP BY x.corrects_period_key, x.tenant_key, k.currency
       HAVING sum(x.credits_delta) <> 0 OR sum(x.amount_minor) <> 0`,
    )
    .safeIntegers()
    .all() as (Record<'periodKey' | 'tenantKey' | 'cardKey', bigint> &
    Omit<UnsettledSum, 'cardKey' | keyof ChargedKey>)[];
  return rows.map(({ periodKey, tenantKey, cardKey, ...sums }) => {
    return { ...sums, periodKey: Number(periodKey), tenantKey: Number(tenantKey), cardKey: Number(cardKey) };
  });
}
