import { z } from 'zod';
import { type AlertMoment, createAlertMoments } from '../../alerts/queries/alert-moments.ts';
import { requireAlertRecord } from '../../alerts/queries/alert-record.ts';
import { documentOperation } from '../operation.ts';
import { idText } from '../schemas.ts';
import { alertSchema } from './alert-schemas.ts';

const input = z.strictObject({ alert_id: idText.describe('the alert') });

/**
 * The schema of a member whose fields are not described here, because most readers do not need them; docs/alerts.md
 * describes them.
 */
const record = z.custom<object>((value) => typeof value === 'object' && value !== null).meta({ type: 'object' });
const records = z.array(record);

/** The members of the document that shows one alert. */
export const alertRecordShape = {
  alert: alertSchema,
  transitions: records.describe('every change of the alert, in order'),
  messages: records.describe('messages about it, by channel'),
  feedback: records.describe('labels that people gave, the latest last'),
};

export const showAlert = documentOperation({
  name: 'alerts.show',
  summary: 'Show an alert: its figures, changes, messages and feedback',
  details:
    'The record of one alert, for who was notified when and who acknowledged it. For its cause use alerts_explain.',
  role: 'read',
  input,
  output: z.looseObject(alertRecordShape),
  http: { method: 'GET', path: '/alerts/{alert_id}' },
  command: 'alerts show',
  run: ({ connection }, { alert_id }) => ({ ...requireAlertRecord(connection, alert_id) }),
});

const moment = z.looseObject({
  at: z.string(),
  summary: z.string(),
  reason: z.string().nullable(),
  evidence: record.describe('see schemas/alert-notification.json'),
});

export const explainAlert = documentOperation({
  name: 'alerts.explain',
  summary: 'Explain an alert: figures, threshold, cause and forecast, as last notified and now',
  details:
    'Shows why an alert fired: the compared months, the limit, how much comes from more requests and from more credits for each, and the forecast for the end of the month.',
  role: 'read',
  input,
  output: z.strictObject({
    alert: alertSchema,
    notified: moment.nullable().describe('as in the last message; null if nobody was notified'),
    now: moment.nullable(),
  }),
  http: { method: 'GET', path: '/alerts/{alert_id}/explanation' },
  command: 'alerts explain',
  run({ connection }, { alert_id }) {
    const { alert } = requireAlertRecord(connection, alert_id);
    const { notified, now } = createAlertMoments(connection)(alert);
    return { alert, notified: momentDocument(notified), now: momentDocument(now) };
  },
});

/**
 * Returns what a notification would contain at this moment; null if there is no such moment. The document belongs to no
 * run and no delivery.
 */
function momentDocument(found: AlertMoment | null) {
  if (found === null) return null;
  const { credits, requests, threshold, reason, evidence, summary } = found.notification;
  // The evidence reads its fields from the ledger only when they are used. The copy reads all of them now, before the
  // connection closes.
  return { at: found.at, credits, requests, threshold, reason, evidence: { ...evidence }, summary };
}
