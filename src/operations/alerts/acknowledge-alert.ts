import { z } from 'zod';
import { alertRecord } from '../../alerts/queries/alert-record.ts';
import { AppError } from '../../core/errors.ts';
import { actorText, document } from '../operation.ts';
import { idText } from '../schemas.ts';
import { alertRecordShape } from './show-alert.ts';

const MAX_NOTE_CHARACTERS = 500;

export const acknowledgeAlert = document({
  name: 'alerts.acknowledge',
  summary: 'Acknowledge an alert: no reminders until it grows, gets worse or ends',
  role: 'operate',
  input: z.strictObject({
    alert_id: idText.describe('an alert, or a message (msg_...) with several'),
    note: z.string().max(MAX_NOTE_CHARACTERS).optional().describe('a note'),
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
      if (isRepeated(error) && isAcknowledgedBy(scope.connection, alertId, by)) return [alertId];
      throw error;
    });
    if (alertId.startsWith('msg_')) return { notification_id: alertId, by, acknowledged };
    return { ...alertRecord(scope.connection, alertId) };
  },
});

function isRepeated(error: unknown): boolean {
  return error instanceof AppError && error.code === 'alert_not_firing';
}

/** Reports whether the last change of an alert is an acknowledgement by this actor: a repeated request changes nothing. */
function isAcknowledgedBy(connection: Parameters<typeof alertRecord>[0], alertId: string, by: string): boolean {
  if (alertId.startsWith('msg_')) return false;
  const { alert, transitions } = alertRecord(connection, alertId);
  const last = transitions.at(-1);
  return alert.state === 'acknowledged' && last?.change === 'acknowledged' && last.actor === by;
}
