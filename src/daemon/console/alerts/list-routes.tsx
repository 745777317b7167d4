import type { FastifyInstance } from 'fastify';
import { isoTime } from '../../../core/clock.ts';
import { DAY_MS } from '../../../core/durations.ts';
import { AppError } from '../../../core/errors.ts';
import { counted } from '../../../core/text/words.ts';
import { acknowledgeAlert } from '../../../operations/alerts/acknowledge-alert.ts';
import { addSilence } from '../../../operations/alerts/add-silence.ts';
import { labelAlert } from '../../../operations/alerts/label-alert.ts';
import type { ConsolePages } from '../console-pages.ts';
import { answerForm, backPath, type SentForm } from '../shell/change.ts';
import { faultText } from '../shell/fault-text.ts';
import { sendPage } from '../shell/render-page.ts';
import { AlertListPage, SELECTED_FORM } from './list-page.tsx';
import { readAlertFilters, readAlerts } from './read-alerts.ts';

const SILENCE_DAYS = 7;

/** Serves the list of alerts, and the forms that change the selected ones. */
export function addAlertList(app: FastifyInstance, pages: ConsolePages): void {
  const { visitOf, scopeOf, context } = pages;
  app.get('/alerts', (request, reply) => {
    const filters = readAlertFilters(request.query as Record<string, unknown>);
    const list = readAlerts(scopeOf(request), filters);
    const visit = visitOf(request);
    return sendPage(
      reply,
      <AlertListPage
        visit={visit}
        filters={filters}
        list={list}
        workspaces={context.config.workspaces}
        silenceUntil={proposedEnd(visit.nowMs)}
      />,
    );
  });
  const addForm = (path: string, change: (sent: SentForm, alertId: string) => Promise<unknown>, done: string): void => {
    app.post(path, { config: { access: 'form', role: 'operate' } }, (request, reply) =>
      answerForm({ request, reply, pages, form: SELECTED_FORM, back: backPath(request, '/alerts') }, (sent) =>
        changeEach(sent, (alertId) => change(sent, alertId), done),
      ),
    );
  };
  addForm(
    '/alerts/acknowledge',
    ({ run, fields }, alert_id) => run(acknowledgeAlert, { alert_id, note: fields.get('note') ?? '' }),
    'acknowledged',
  );
  addForm(
    '/alerts/silence',
    ({ run, fields }, alert_id) =>
      run(addSilence, { alert_id, until: fields.get('until') ?? '', reason: fields.get('note') ?? '' }),
    'silenced',
  );
  addForm(
    '/alerts/feedback',
    ({ run, fields }, alert_id) =>
      run(labelAlert, { alert_id, label: fields.get('label') ?? '', note: fields.get('note') ?? '' }),
    'labelled',
  );
}

/** Returns the day that forms propose as the end of a silence. */
export function proposedEnd(nowMs: number): string {
  return isoTime(nowMs + SILENCE_DAYS * DAY_MS).slice(0, 10);
}

/**
 * Changes each selected alert. If one of them cannot be changed, for example because it has ended, the others still
 * are.
 */
async function changeEach(
  { fields }: SentForm,
  change: (alertId: string) => Promise<unknown>,
  done: string,
): Promise<string> {
  const ids = [...new Set(fields.getAll('id'))];
  if (ids.length === 0) throw new AppError('none_selected', 'No alert is selected.', { hint: 'Select alerts first.' });
  const faults: unknown[] = [];
  for (const id of ids) {
    await change(id).catch((error: unknown) => {
      // Any other error, such as an invalid field, would occur for all selected alerts, so it ends the loop.
      if (!(error instanceof AppError) || error.code !== 'alert_not_firing') throw error;
      faults.push(error);
    });
  }
  const changed = `${counted(ids.length - faults.length, 'alert')} ${done}.`;
  if (faults.length === 0) return changed;
  if (faults.length === ids.length) throw faults[0];
  return `${changed} ${counted(faults.length, 'alert')} left as ${faults.length === 1 ? 'it is' : 'they are'}: ${faultText(faults[0])}`;
}
