import { NO_FIGURES, namedFigures } from '../../alerts/track/alert-figures.ts';
import { deadColumns } from '../alerts/replay.ts';
import { list, object, one, openObject, orNull, rowOf, type Schema } from './schema.ts';

const silence = object({
  ...{ silence_id: 'id', kind: one('silence', 'plan'), workspace_id: 'id?', rule: 'text', tenant: 'text' },
  ...{ period: 'text', up_to_credits: 'credits?', until: 'date', reason: 'text', created_by: 'text' },
  ...{ created_at: 'date', ended_at: 'date?', ended_by: 'text?', muted: 'count' },
});
const silenceAdded = object({
  ...{ silence_id: 'id', kind: one('silence', 'plan'), until: 'date' },
  last_90_days: object({ news: 'count', alerts: 'count', rules: list(object({ rule: 'text', news: 'count' })) }),
});
const alert = openObject({
  ...{ alert_id: 'id', workspace_id: 'id?', tenant_id: 'id?', tenant_name: 'text?', period: 'text?', rule: 'text' },
  ...{ level: 'text', severity: 'text', state: 'text', told_times: 'count' },
  ...Object.fromEntries(Object.keys(namedFigures(NO_FIGURES)).map((name) => [name, 'credits?' as const])),
  ...{ first_fired_at: 'date?', last_changed_at: 'date' },
});
const alertRecord = object({
  ...{ alert, transitions: list(openObject({ revision: 'count', change: 'text', at: 'date' })) },
  deliveries: list(openObject({ notification_id: 'id', channel: 'text', state: 'text', attempts: 'count' })),
  feedback: list(object({ label: 'text', note: 'text?', actor: 'text', at: 'date' })),
});
const moment = openObject({ at: 'date', summary: 'text', evidence: openObject() });
const dead = list(rowOf(deadColumns(0)));

/** What the commands below `alerts` answer. */
export const ALERT_ANSWERS: Readonly<Record<string, Schema>> = {
  'alerts list': object({ filters: openObject(), alerts: list(alert) }),
  'alerts show': alertRecord,
  'alerts ack': alertRecord,
  'alerts explain': object({ alert, told: orNull(moment), now: moment }),
  'alerts feedback': object({
    ...{ alert_id: 'id', label: 'text', by: 'text', would_have_muted: 'text?', setting: 'text?' },
  }),
  'alerts silence': silenceAdded,
  'alerts plan': silenceAdded,
  'alerts silences': object({ silences: list(silence) }),
  'alerts unsilence': object({ silence_id: 'id', ended_by: 'text' }),
  'alerts test': object({
    ...{ channel: 'text', type: 'text', notification_id: 'id', outcome: 'text', answer: 'text', latency_ms: 'count' },
    remedy: 'text?',
  }),
  'alerts replay': {
    anyOf: [object({ dead }), object({ replayed: dead, dropped: dead, enabled: list('text'), without_channel: dead })],
  },
  'alerts backtest': openObject({ workspace_id: 'id', rules: list(openObject()), total: openObject() }),
};
