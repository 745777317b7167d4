import { counted } from '../../core/text/words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, isNull, query, sql } from '../../ledger/store/schema/drizzle.ts';
import { evaluateJob } from '../evaluate-system.ts';
import type { NotifyOptions } from '../pipeline/route.ts';
import { isOpenAlertSql } from '../state/alert-store.ts';

/** The cause of an alert about a channel is this prefix and the channel's name. */
const CHANNEL_CAUSE_PREFIX = 'channel:';

/**
 * Raises the alert about a failing channel, with the reason, or ends it if the reason is null. Runs inside the
 * caller's transaction.
 */
export function reportChannelHealth(
  connection: LedgerDb,
  { channel, reason }: { channel: string; reason: string | null },
  notifying: NotifyOptions,
): void {
  const detail = reason === null ? null : `${reason.replace(/\.$/, '')}.${undelivered(connection, channel)}`;
  evaluateJob(connection, { job: 'channel', of: channel, detail }, notifying);
}

/** Ends the alerts about channels that are no longer configured: no delivery would show that they work again. */
export function endFaultsOfRemovedChannels(connection: LedgerDb, notifying: NotifyOptions): void {
  const names = notifying.routes.map(({ channel }) => channel);
  const found = query(connection)
    .select({ cause: alerts.cause })
    .from(alerts)
    .where(and(isOpenAlertSql, isNull(alerts.workspaceKey), sql`${alerts.cause} LIKE ${`${CHANNEL_CAUSE_PREFIX}%`}`))
    .all();
  for (const { cause } of found) {
    const channel = String(cause).slice(CHANNEL_CAUSE_PREFIX.length);
    if (!names.includes(channel)) reportChannelHealth(connection, { channel, reason: null }, notifying);
  }
}

function undelivered(connection: LedgerDb, channel: string): string {
  const { pending, newest } = connection
    .prepare(
      `SELECT (SELECT count(*) FROM alert_notified WHERE channel = @channel AND pending IS NOT NULL) AS pending,
         (SELECT payload ->> '$.title' FROM deliveries WHERE channel = @channel AND state IN ('dead', 'possible', 'refused')
            AND coalesce(payload ->> '$.cause', '') NOT LIKE '${CHANNEL_CAUSE_PREFIX}%'
          ORDER BY created_at DESC, delivery_key DESC LIMIT 1) AS newest`,
    )
    .get({ channel }) as { pending: number; newest: string | null };
  if (pending === 0) return '';
  const newestSentence = newest === null ? '' : `; the newest is "${newest}"`;
  return ` ${counted(pending, 'alert was', 'alerts were')} not delivered${newestSentence}`;
}
