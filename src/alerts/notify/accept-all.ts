import type Database from 'better-sqlite3';
import { currentRoutes } from '../track/routes.ts';
import { compose } from './compose.ts';
import { claimDelivery, dueDeliveries, recordAttempt } from './deliveries.ts';

/** Has every channel take what it is owed now, and what waits for a daily summary: as receivers do that are always there. */
export function acceptAll(connection: Database.Database, nowMs: number): void {
  const channels = currentRoutes(connection).map(({ channel }) => channel);
  for (;;) {
    compose(connection, { nowMs, withoutHours: true });
    const due = dueDeliveries(connection, { channels, limit: 1_000_000, nowMs });
    if (due.length === 0) return;
    for (const { notificationId } of due) {
      claimDelivery(connection, { notificationId, nowMs });
      recordAttempt(connection, { notificationId, event: 'accepted', delayMs: 0, error: null, nowMs });
    }
  }
}
