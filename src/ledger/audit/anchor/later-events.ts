import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { periodEvents } from '../../store/schema/close-tables.ts';
import { and, asc, eq, gt } from '../../store/schema/drizzle.ts';

/** A close or reopen, who made it, and when, ISO-8601 UTC. */
export interface LaterEvent {
  action: 'close' | 'reopen';
  at: string;
  actor: string;
}

/** What has happened to a period since the close with this digest, oldest first; null when the ledger has no such close. */
export function eventsSinceClose(connection: LedgerConnection, digest: string): LaterEvent[] | null {
  const db = query(connection);
  const close = db
    .select()
    .from(periodEvents)
    .where(and(eq(periodEvents.digest, digest), eq(periodEvents.action, 'close')))
    .get();
  if (close === undefined) return null;
  return db
    .select()
    .from(periodEvents)
    .where(and(eq(periodEvents.periodKey, close.periodKey), gt(periodEvents.eventSeq, close.eventSeq)))
    .orderBy(asc(periodEvents.eventSeq))
    .all()
    .map(({ action, at, actor }) => ({ action, at, actor }));
}
