import type { Period } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { adjustments, periodEvents } from '../../store/schema/billing-tables.ts';
import { count, desc, eq, query } from '../../store/schema/drizzle.ts';
import { findPeriodOf } from '../../store/subjects.ts';
import type { PeriodEvent } from './close-period.ts';

/** A close or reopen with the name of the person who made it. */
export interface AttributedEvent extends PeriodEvent {
  actor: string;
  note: string;
}

/** Returns the last close or reopen of a period; null if it was never closed. */
export function findLastPeriodEvent(connection: LedgerDb, workspaceId: string, period: Period): AttributedEvent | null {
  const found = findPeriodOf(connection, workspaceId, period);
  if (found === undefined) return null;
  const event = query(connection)
    .select()
    .from(periodEvents)
    .where(eq(periodEvents.periodKey, found.periodKey))
    .orderBy(desc(periodEvents.eventSeq))
    .limit(1)
    .get();
  if (event === undefined) return null;
  const reversed = query(connection)
    .select({ count: count() })
    .from(adjustments)
    .where(eq(adjustments.eventSeq, event.eventSeq))
    .get();
  return {
    action: event.action,
    workspaceId,
    period,
    at: event.at,
    tenants: BigInt(event.tenants),
    creditsUsed: event.creditsUsed,
    requestCount: event.requestCount,
    overridden: JSON.parse(event.overridden) as string[],
    reversed: Number(reversed?.count ?? 0),
    eventSeq: event.eventSeq,
    digest: event.digest,
    actor: event.actor,
    note: event.note,
  };
}
