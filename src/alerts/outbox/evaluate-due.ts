import { isoTime } from '../../core/clock.ts';
import { OPEN_ALERT_STATES_SQL } from '../../core/text/alert-words.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import { isReadElsewhereSql } from '../../ledger/journal/retired-workspaces.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { deliveries } from '../../ledger/store/schema/delivery-tables.ts';
import { and, asc, eq, notInArray, query, type SQL, sql } from '../../ledger/store/schema/drizzle.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import type { NotifyContext } from '../pipeline/notify-context.ts';
import type { NotifyOptions } from '../pipeline/route.ts';
import { AlertBook } from '../state/alert-book.ts';
import { applyDeliveryEvent } from './deliveries.ts';
import { ALL_CHANNELS, toDueParameters } from './due.ts';
import type { DueNotification } from './notify-channels.ts';
import { decideSelected } from './notify-channels.ts';

/**
 * Decides again whether to notify these channels of each alert that has a decision or notification due. Returns the
 * notifications to send now.
 */
export function decideDueNotifications(
  connection: LedgerDb,
  notifying: NotifyOptions,
  channels: readonly string[],
): DueNotification[] {
  const { at, latest } = toDueParameters(notifying.nowMs);
  const keys = sql`(SELECT alert_key FROM alert_notified
    WHERE due_at IS NOT NULL AND (due_at <= ${at} OR scheduled_at > ${latest}) AND channel IN (SELECT value FROM json_each(${JSON.stringify([...channels, ALL_CHANNELS])})))`;
  const due = booksOf(connection, sql`${alerts.alertKey} IN ${keys}`, notifying).flatMap((book) =>
    decideSelected(book, keys),
  );
  connection
    .prepare('UPDATE alert_notified SET due_at = NULL, scheduled_at = NULL WHERE channel = ? AND due_at IS NOT NULL')
    .run(ALL_CHANNELS);
  return due;
}

/**
 * Schedules a new decision, by every channel, about the open alerts of a workspace, or of all workspaces (null). It is
 * made at the next check. Called after a person's action and after a change of channels. Retired workspaces are not
 * left out, because a workspace that is being resumed still counts as retired.
 */
export function scheduleNewDecisions(connection: LedgerDb, workspaceKey: number | null, nowMs: number): void {
  connection
    .prepare(
      `INSERT INTO alert_notified (alert_key, channel, due_at, scheduled_at)
       SELECT a.alert_key, '${ALL_CHANNELS}', @at, @at FROM alerts a
       WHERE (@workspaceKey IS NULL OR a.workspace_key = @workspaceKey)
         AND (a.state IN ${OPEN_ALERT_STATES_SQL}
           OR a.alert_key IN (SELECT n.alert_key FROM alert_notified n WHERE n.open = 1 OR n.due_at IS NOT NULL))
       ON CONFLICT DO UPDATE SET due_at = excluded.due_at, scheduled_at = excluded.scheduled_at`,
    )
    .run({ workspaceKey, at: isoTime(nowMs) });
}

/**
 * Prepares the notifications for the configured channels, which may differ from those before. Every channel decides
 * again; pending notifications of removed channels are dropped.
 */
export function prepareForChannels(connection: LedgerDb, { routes, nowMs }: NotifyOptions): void {
  connection
    .transaction(() => {
      const names = routes.map(({ channel }) => channel);
      const isForeign = and(eq(deliveries.state, 'fresh'), notInArray(deliveries.channel, names));
      for (const delivery of query(connection).select().from(deliveries).where(isForeign).all()) {
        applyDeliveryEvent(connection, delivery, 'outdated', isoTime(nowMs));
      }
      connection
        .prepare(
          `UPDATE alert_notified SET pending = NULL, pending_at = NULL, batch = NULL, due_at = NULL, scheduled_at = NULL
           WHERE delivery_key IS NULL AND (pending IS NOT NULL OR due_at IS NOT NULL)
             AND channel <> '${ALL_CHANNELS}' AND channel NOT IN (SELECT value FROM json_each(?))`,
        )
        .run(JSON.stringify(names));
      scheduleNewDecisions(connection, null, nowMs);
    })
    .immediate();
}

/**
 * Creates an alert book for each workspace with alerts that fit a condition, except workspaces that another ledger
 * reads.
 */
function booksOf(connection: LedgerDb, isInPeriods: SQL, { routes, nowMs }: NotifyOptions): AlertBook<NotifyContext>[] {
  return query(connection)
    .selectDistinct({ workspaceKey: alerts.workspaceKey, workspaceId: workspaces.workspaceId })
    .from(alerts)
    .leftJoin(workspaces, eq(workspaces.workspaceKey, alerts.workspaceKey))
    .where(and(isInPeriods, sql.raw(`NOT ${isReadElsewhereSql('alerts.workspace_key')}`)))
    .orderBy(asc(alerts.workspaceKey))
    .all()
    .map(({ workspaceKey, workspaceId }) => {
      const priceOf = workspaceId === null ? null : creditPricer(connection, workspaceId);
      const nobody = { runKey: null, runId: null, actor: 'timer', seeding: false, routes };
      return new AlertBook({ ...nobody, connection, workspaceKey, workspaceId, at: isoTime(nowMs), nowMs, priceOf });
    });
}
