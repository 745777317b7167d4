import { z } from 'zod';
import { requireAlertRecord } from '../../alerts/queries/alert-record.ts';
import { requireAlerts } from '../../alerts/state/alert-store.ts';
import { AppError } from '../../core/errors.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { actorText, changeOperation } from '../operation.ts';
import { idText, noteText } from '../schemas.ts';
import { alertRecordShape } from './show-alert.ts';

export const acknowledgeAlert = changeOperation({
  name: 'alerts.acknowledge',
  summary: 'Acknowledge an alert: no reminders until it grows, gets worse or ends',
  details: 'It records that somebody is handling the alert. Ask the user first, and give the reason as `note`.',
  role: 'operate',
  input: z.strictObject({
    alert_id: idText.describe('an alert, or a message (msg_...) with several'),
    note: noteText.optional().describe('a note'),
  }),
  output: z.union([
    z.looseObject(alertRecordShape),
    z.strictObject({ notification_id: z.string(), by: z.string(), acknowledged: z.array(z.string()) }),
  ]),
  http: { method: 'POST', path: '/alerts/{alert_id}/acknowledge' },
  command: 'alerts ack',
  async run(scope, { alert_id: alertId, note = null }) {
    const { context, actor } = scope;
    const writer = await context.existingWriter();
    const by = actorText(actor);
    const nowMs = context.clock.now();
    const acknowledged = await writer.acknowledgeAlert({ alertId, by, note, nowMs }).catch((error: unknown) => {
      const before = isRepeated(error) ? acknowledgedBy(scope.connection, alertId, by) : null;
      if (before !== null) return before;
      throw error;
    });
    const document = alertId.startsWith('msg_')
      ? { notification_id: alertId, by, acknowledged }
      : { ...requireAlertRecord(scope.connection, alertId) };
    return { applied: true, document, notes: [] };
  },
});

function isRepeated(error: unknown): boolean {
  return error instanceof AppError && error.code === 'alert_not_firing';
}

/**
 * Returns the ids of the alerts that `id` stands for, if this actor was the last to acknowledge each of them; a
 * repeated request then changes nothing. Returns null otherwise.
 */
function acknowledgedBy(connection: LedgerDb, id: string, by: string): string[] | null {
  const alertIds = requireAlerts(connection, id).map(({ alertId }) => alertId);
  const isOwn = alertIds.every((alertId) => {
    const { alert, transitions } = requireAlertRecord(connection, alertId);
    const last = transitions.at(-1);
    return alert.state === 'acknowledged' && last?.change === 'acknowledged' && last.actor === by;
  });
  return isOwn ? alertIds : null;
}
