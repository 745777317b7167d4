import { isoTime } from '../core/clock.ts';
import type { RetiringWorkspace } from '../ledger/journal/retire-workspace.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { applyDeliveryEvent } from './outbox/deliveries.ts';
import type { DeliveryState } from './outbox/delivery-states.ts';
import { notifyChannels } from './outbox/notify-channels.ts';
import type { ChannelRoute } from './pipeline/route.ts';
import { AlertBook } from './state/alert-book.ts';
import { renameSystemAlerts } from './state/alert-store.ts';

export interface EndAlertsRequest extends RetiringWorkspace {
  by: string;
  nowMs: number;
  /** The channels that are notified. */
  routes: readonly ChannelRoute[];
}

/**
 * Ends the open alerts of a workspace that this ledger stops reading. Receivers that were notified of an alert are
 * notified of its end. Runs inside the transaction that retires the workspace. Returns how many alerts receivers are
 * notified of.
 */
export function endAlerts(
  connection: LedgerDb,
  { workspaceId, workspaceKey, by, nowMs, routes }: EndAlertsRequest,
): number {
  const book = new AlertBook({
    connection,
    workspaceKey,
    workspaceId,
    runKey: null,
    runId: null,
    actor: by,
    seeding: false,
    ending: true,
    at: isoTime(nowMs),
    nowMs,
    routes,
  });
  for (const alert of book.open()) book.expire(alert);
  return notifyChannels(book).changes.filter(({ silent }) => !silent).length;
}

/**
 * Withdraws the pending notifications of a workspace, or about the ledger itself (null), and the messages that contain
 * nothing else. Called when another ledger takes over, which has the same notifications and sends them. Runs inside the
 * caller's transaction. Returns the number of withdrawn notifications.
 */
export function withdrawMessages(connection: LedgerDb, workspaceKey: number | null, nowMs: number): number {
  const isOwn = 'alert_key IN (SELECT alert_key FROM alerts WHERE workspace_key IS @workspaceKey)';
  const pending = `FROM alert_notified WHERE pending IS NOT NULL AND given_up = 0 AND ${isOwn}`;
  const withdrawn = connection.prepare(`SELECT count(*) ${pending}`).pluck().get({ workspaceKey }) as number;
  const underWay = connection.prepare(
    `SELECT delivery_key AS deliveryKey, state, min(${isOwn}) AS isWhole FROM deliveries JOIN delivery_members USING (delivery_key)
     WHERE due_at IS NOT NULL GROUP BY delivery_key HAVING max(${isOwn}) = 1`,
  );
  for (const { isWhole, ...delivery } of underWay.all({ workspaceKey }) as UnderWay[]) {
    // A message that also contains other alerts is composed again, unless a receiver may already have it.
    applyDeliveryEvent(connection, delivery, isWhole === 1 ? 'withdraw' : 'outdated', isoTime(nowMs));
  }
  connection
    .prepare(
      `UPDATE alert_notified SET pending = NULL, pending_at = NULL, batch = NULL, due_at = NULL, scheduled_at = NULL
       WHERE delivery_key IS NULL AND ${isOwn}`,
    )
    .run({ workspaceKey });
  return withdrawn;
}

interface UnderWay {
  deliveryKey: number;
  state: DeliveryState;
  isWhole: number;
}

/**
 * Creates a function for a copy that becomes a separate ledger. The function ends the alerts about the whole ledger,
 * which are about the original, without a notification, and gives them ids of the new ledger. Runs inside the caller's
 * transaction.
 */
export function createSystemAlertEnder(nowMs: number): (connection: LedgerDb) => void {
  return (connection) => {
    withdrawMessages(connection, null, nowMs);
    connection.exec(
      'DELETE FROM alert_notified WHERE alert_key IN (SELECT alert_key FROM alerts WHERE workspace_key IS NULL)',
    );
    const nobody = { workspaceKey: null, workspaceId: null, runKey: null, runId: null, routes: [] };
    const book = new AlertBook({ connection, ...nobody, actor: 'restore', seeding: false, at: isoTime(nowMs), nowMs });
    for (const alert of book.open()) book.expire(alert);
    notifyChannels(book);
    renameSystemAlerts(connection);
  };
}
