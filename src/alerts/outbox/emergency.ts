import { isoTime } from '../../core/clock.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { type ComposedAlert, MessageComposer } from '../messages/compose.ts';
import { renderPayload } from '../messages/notification.ts';
import { type ChannelRoute, routeTakes } from '../pipeline/route.ts';
import { type JobHealth, judgeJob } from '../rules/job-failed/detect.ts';
import { requireAlert, type StoredAlert, systemAlertId } from '../state/alert-store.ts';
import { claimDelivery, recordAttempt, writeDelivery } from './deliveries.ts';

/**
 * A message about a fault because of which the ledger cannot be written, such as a full disk. The ledger records it
 * when it can be written again.
 */
export interface EmergencyMessage {
  channel: string;
  notificationId: string;
  payload: string;
  revision: number;
  createdAt: string;
  /** True after an attempt with an unknown outcome: the channel may have the message, even if later attempts failed. */
  isPossible: boolean;
}

/**
 * The result of an attempt to send an emergency message. `refused`: the channel certainly does not have it. `unknown`:
 * the channel may have it.
 */
export type EmergencyOutcome = 'accepted' | 'unknown' | 'refused';

/** Composes the message about a failed job for each channel that takes it. The ledger is only read. */
export function composeEmergency(
  connection: LedgerDb,
  routes: readonly ChannelRoute[],
  { job, detail }: Pick<JobHealth, 'job' | 'detail'>,
  nowMs: number,
): EmergencyMessage[] {
  const at = isoTime(nowMs);
  const nobody = { workspaceKey: null, workspaceId: null, runKey: null, runId: null };
  const composer = new MessageComposer({ connection, ...nobody, actor: 'timer', seeding: false, at, nowMs });
  const alert = emergencyAlert(connection, { job, detail }, at);
  // The revision is the time in seconds, like that of messages that the ledger composes.
  const revision = Math.floor(nowMs / 1000);
  const evidence = composer.evidence(alert, { tenantId: null, planned: [] });
  return routes
    .filter((route) => routeTakes(route, { ...alert, workspaceId: null, tenantId: null }))
    .map((route) => {
      const place = { route, event: 'opened' as const, revision, notifiedCount: 0 };
      const notification = composer.message(alert, { tenantId: null, evidence }, place);
      const { notification_id: notificationId } = notification;
      const { channel } = route;
      const payload = renderPayload(notification);
      return { channel, notificationId, payload, revision, createdAt: at, isPossible: false };
    });
}

/** Returns the alert as the ledger will store it when it can be written again. */
function emergencyAlert(connection: LedgerDb, health: Pick<JobHealth, 'job' | 'detail'>, at: string): ComposedAlert {
  const { rule, cause, judgement, detail } = judgeJob(health);
  if (judgement.verdict !== 'holds') throw new Error('only a failed job has a message');
  const { level, severity } = judgement.finding;
  const alertId = systemAlertId(connection, rule, cause);
  const before = connection.prepare('SELECT episode FROM alerts WHERE alert_id = ?').pluck().get(alertId);
  return {
    alertId,
    rule,
    cause,
    periodKey: null,
    tenantKey: null,
    level,
    severity,
    state: 'firing',
    previous: null,
    current: null,
    threshold: null,
    detail: detail ?? null,
    episode: Number(before ?? 0) + 1,
    beganAt: at,
    basis: null,
  };
}

/**
 * Records the messages that channels received, or may have received, while the ledger could not be written. Those with
 * an unknown outcome are tried again unchanged. Runs inside the caller's transaction.
 */
export function recordSentEmergencyMessages(
  connection: LedgerDb,
  { rule, cause }: { rule: StoredAlert['rule']; cause: string },
  alreadySent: readonly EmergencyMessage[],
  routes: readonly ChannelRoute[],
): void {
  for (const { channel, notificationId, payload, revision, createdAt, isPossible } of alreadySent) {
    const alert = requireAlert(connection, systemAlertId(connection, rule, cause));
    const delivery = { notificationId, channel, form: 'single' as const, payload, failures: 0, at: createdAt };
    writeDelivery(connection, delivery, [{ alert, event: 'opened', notifiedCount: 0, revision }]);
    const nowMs = Date.parse(createdAt);
    claimDelivery(connection, { notificationId, routes, nowMs });
    const event = isPossible ? 'unknown' : 'accepted';
    recordAttempt(connection, { notificationId, event, delayMs: 0, error: null, nowMs });
  }
}
