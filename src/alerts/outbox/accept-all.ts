import { isoTime } from '../../core/clock.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { preparedSql } from '../../ledger/store/schema/drizzle.ts';
import type { NotifyOptions } from '../pipeline/route.ts';
import { composeDueMessages } from './compose-due.ts';
import { claimDelivery, recordAttempt } from './deliveries.ts';
import { findDueDeliveries, isAnythingDue } from './due.ts';

const summariesNow = preparedSql("UPDATE alert_notified SET due_at = ? WHERE batch = 'digest' AND due_at IS NOT NULL");

/**
 * Records all messages that are due, digests included, as delivered, without sending them. A replay of past runs uses
 * it.
 */
export function simulateDelivery(connection: LedgerDb, { routes, nowMs }: NotifyOptions): void {
  const channels = routes.map(({ channel }) => channel);
  for (;;) {
    summariesNow(connection).run(isoTime(nowMs));
    if (isAnythingDue(connection, channels, nowMs)) composeDueMessages(connection, { routes, nowMs });
    const due = findDueDeliveries(connection, { channels, limit: 1_000_000, nowMs });
    if (due.length === 0) return;
    for (const { notificationId } of due) {
      claimDelivery(connection, { notificationId, routes, nowMs });
      recordAttempt(connection, { notificationId, event: 'accepted', delayMs: 0, error: null, nowMs });
    }
  }
}
