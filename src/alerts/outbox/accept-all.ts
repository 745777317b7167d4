import { isoTime } from '../../core/clock.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { preparedSql } from '../../ledger/store/schema/drizzle.ts';
import type { Notifying } from '../pipeline/route.ts';
import { compose } from './compose-due.ts';
import { claimDelivery, recordAttempt } from './deliveries.ts';
import { dueDeliveries, isAnythingDue } from './due.ts';

const summariesNow = preparedSql("UPDATE alert_notified SET due_at = ? WHERE batch = 'digest' AND due_at IS NOT NULL");

/** Delivers everything that is due, digests included, to a receiver that accepts each message. For replays. */
export function acceptAll(connection: LedgerDb, { routes, nowMs }: Notifying): void {
  const channels = routes.map(({ channel }) => channel);
  for (;;) {
    summariesNow(connection).run(isoTime(nowMs));
    if (isAnythingDue(connection, channels, nowMs)) compose(connection, { routes, nowMs });
    const due = dueDeliveries(connection, { channels, limit: 1_000_000, nowMs });
    if (due.length === 0) return;
    for (const { notificationId } of due) {
      claimDelivery(connection, { notificationId, routes, nowMs });
      recordAttempt(connection, { notificationId, event: 'accepted', delayMs: 0, error: null, nowMs });
    }
  }
}
