import { z } from 'zod';
import { muteCommand } from '../../alerts/messages/next-commands.ts';
import { quietSetting } from '../../alerts/messages/quiet-setting.ts';
import { createAlertMoments } from '../../alerts/queries/alert-moments.ts';
import { requireAlertRecord } from '../../alerts/queries/alert-record.ts';
import { FEEDBACK_LABELS } from '../../alerts/state/feedback.ts';
import { actorText, changeOperation } from '../operation.ts';
import { idText, noteText } from '../schemas.ts';

const label = z.enum(FEEDBACK_LABELS);

export const labelAlert = changeOperation({
  name: 'alerts.label',
  summary: 'Label an alert as real, expected or false; the last label counts',
  role: 'operate',
  input: z.strictObject({
    alert_id: idText.describe('an alert, or a message (msg_...) with several'),
    label: label.describe('`expected`: the alert was right, and the change was known before'),
    note: noteText.optional().describe('a note'),
  }),
  output: z.union([
    z.strictObject({
      alert_id: z.string(),
      label,
      by: z.string(),
      would_have_muted: z.string().nullable().describe('the command that mutes an expected alert'),
      setting: z.string().nullable().describe('the setting that prevents false alerts like this one'),
    }),
    z.strictObject({ notification_id: z.string(), label, by: z.string(), alerts: z.array(z.string()) }),
  ]),
  http: { method: 'POST', path: '/alerts/{alert_id}/feedback' },
  command: 'alerts feedback',
  async run({ context, connection, actor }, { alert_id: alertId, label, note = null }) {
    const writer = await context.existingWriter();
    const by = actorText(actor);
    const nowMs = context.clock.now();
    const alerts = await writer.recordFeedback({ alertId, label, note, by, nowMs });
    if (alertId.startsWith('msg_')) {
      return { applied: true, document: { notification_id: alertId, label, by, alerts }, notes: [] };
    }
    const { notification } = createAlertMoments(connection)(requireAlertRecord(connection, alertId).alert).now;
    const document = {
      alert_id: alertId,
      label,
      by,
      would_have_muted: label === 'expected' ? muteCommand(notification, nowMs) : null,
      setting: label === 'false' ? quietSetting(notification) : null,
    };
    return { applied: true, document, notes: [] };
  },
});
