import type { FastifyInstance, FastifyRequest } from 'fastify';
import { acknowledgeAlert } from '../../../operations/alerts/acknowledge-alert.ts';
import { addPlan, addSilence } from '../../../operations/alerts/add-silence.ts';
import { endSilence } from '../../../operations/alerts/end-silence.ts';
import { labelAlert } from '../../../operations/alerts/label-alert.ts';
import type { ConsolePages } from '../console-pages.ts';
import { answerForm, backPath, type SentForm } from '../shell/change.ts';
import { alertLink } from '../shell/formats.ts';
import { sendPage } from '../shell/render-page.ts';
import { zoneOf } from '../shell/zone-routes.ts';
import { AlertPage } from './alert-page.tsx';
import { proposedEnd } from './list-routes.tsx';
import { readAlert } from './read-alert.ts';
import { readSilences, SilencesPage } from './silences-page.tsx';

/** Serves the page of an alert with its forms, and the page that lists the silences. */
export function addAlertPage(app: FastifyInstance, pages: ConsolePages): void {
  const { context, visitOf, scopeOf } = pages;
  app.get('/alerts/:id', (request, reply) => {
    const timezone = zoneOf(request, context.config.timezone);
    const view = readAlert(scopeOf(request), idOf(request), timezone);
    const visit = visitOf(request);
    return sendPage(reply, <AlertPage visit={visit} view={view} proposedEnd={proposedEnd(visit.nowMs)} />);
  });
  app.get('/alerts/silences', (request, reply) => {
    const rows = readSilences(scopeOf(request));
    return sendPage(reply, <SilencesPage visit={visitOf(request)} rows={rows} />);
  });
  app.post('/alerts/silences/end', { config: { access: 'form', role: 'operate' } }, (request, reply) =>
    answerForm({ request, reply, pages, form: 'unsilence', back: '/alerts/silences' }, endOf),
  );
  const addForm = (form: string, change: (sent: SentForm, alertId: string) => Promise<string>): void => {
    app.post(`/alerts/:id/${form}`, { config: { access: 'form', role: 'operate' } }, (request, reply) => {
      const id = idOf(request);
      const back = backPath(request, alertLink(id));
      return answerForm({ request, reply, pages, form, back }, (sent) => change(sent, id));
    });
  };
  addForm('acknowledge', async ({ run, fields }, alert_id) => {
    await run(acknowledgeAlert, { alert_id, note: fields.get('note') ?? '' });
    return 'Acknowledged: no reminders until it grows, gets worse or ends.';
  });
  addForm('silence', async ({ run, fields }, alert_id) => {
    const { until, reason } = muteFields(fields);
    const { notes } = await run(addSilence, { alert_id, until, reason });
    return ['Silenced.', ...notes].join(' ');
  });
  addForm('plan', async ({ run, fields }, alert_id) => {
    const { until, reason } = muteFields(fields);
    const upTo = (fields.get('up_to') ?? '').replaceAll(/[,\s]/g, '');
    const up_to = /^\d+$/.test(upTo) ? BigInt(upTo) : upTo;
    const { notes } = await run(addPlan, { alert_id, up_to, until, reason });
    return ['Growth is planned: alerts about it are recorded and not sent.', ...notes].join(' ');
  });
  addForm('unsilence', endOf);
  addForm('feedback', async ({ run, fields }, alert_id) => {
    const { document } = await run(labelAlert, {
      alert_id,
      label: fields.get('label') ?? '',
      note: fields.get('note') ?? '',
    });
    const setting = 'setting' in document ? document.setting : null;
    return setting === null ? 'Labelled.' : `Labelled. This setting prevents such alerts: ${setting}`;
  });
}

async function endOf({ run, fields }: SentForm): Promise<string> {
  await run(endSilence, { silence_id: fields.get('silence_id') ?? '' });
  return 'The silence has ended.';
}

function muteFields(fields: URLSearchParams): { until: string; reason: string } {
  return { until: fields.get('until') ?? '', reason: fields.get('reason') ?? '' };
}

function idOf({ params }: FastifyRequest): string {
  return (params as { id: string }).id;
}
