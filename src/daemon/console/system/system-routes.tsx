import type { FastifyInstance } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { counted } from '../../../core/text/words.ts';
import { replayMessages } from '../../../operations/alerts/replay-messages.ts';
import { testChannel } from '../../../operations/alerts/test-channel.ts';
import { runRead } from '../../../operations/operation.ts';
import { pauseOutlet, resumeOutlet } from '../../../operations/outlets/pause-outlet.ts';
import { verifyLedger } from '../../../operations/system/verify-ledger.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { createDoctor, type Examination } from '../../doctor/run-doctor.ts';
import type { ConsolePages } from '../console-pages.ts';
import { answerForm, type SentForm } from '../shell/change.ts';
import { sentence } from '../shell/fault-text.ts';
import { sendPage } from '../shell/render-page.ts';
import { fieldsOf } from '../sign-in/form-guard.ts';
import { DOCTOR, DOCTOR_FORM } from './doctor-card.tsx';
import { outletForm } from './outlets-card.tsx';
import { readSystem } from './read-system.ts';
import { addStartOutlet } from './start-outlet-routes.tsx';
import { SystemPage } from './system-page.tsx';

/**
 * Serves the page about the daemon's state, with forms that test channels, send messages again, pause outlets and
 * verify the ledger.
 */
export function addSystem(app: FastifyInstance, pages: ConsolePages): void {
  const { visitOf, scopeOf, probe, measured, context } = pages;
  const doctor = createDoctor(context);
  let examination: Examination | null = null;
  app.get('/system', async (request, reply) => {
    const system = await readSystem(scopeOf(request), { probe, measured });
    return sendPage(reply, <SystemPage visit={visitOf(request)} system={system} examination={examination} />);
  });
  const addForm = (action: string, change: (sent: SentForm) => Promise<string>): void => {
    app.post(`/system/${action}`, { config: { access: 'form', role: 'operate' } }, (request, reply) => {
      const fields = fieldsOf(request);
      const [channel, outlet] = [fields.get('channel'), fields.get('outlet')];
      const form = channel !== null ? `test ${channel}` : outlet !== null ? outletForm(outlet) : action;
      return answerForm({ request, reply, pages, form, back: '/system' }, change);
    });
  };
  addForm('test-channel', async ({ run, fields }) => {
    const { document } = await run(testChannel, { channel: fields.get('channel') ?? '' });
    if (document.outcome === 'delivered') return `${document.channel} accepted the test: ${document.answer}`;
    throw new AppError('test_failed', `${document.channel}: ${document.answer}`, {
      hint: document.remedy ?? undefined,
    });
  });
  addForm('replay', async ({ run }) => {
    const { document } = await run(replayMessages, { all: true });
    return `${counted(document.replayed.length, 'message')} will be sent again, ${document.dropped.length} dropped.`;
  });
  addForm('resume-outlet', async ({ run, fields }) => {
    const name = fields.get('outlet') ?? '';
    const { document, notes } = await run(resumeOutlet, { name, perhaps: fields.get('perhaps') ?? undefined });
    return [`${document.name} is sending.`, ...notes.map(sentence)].join(' ');
  });
  addForm('pause-outlet', async ({ run, fields }) => {
    const { document } = await run(pauseOutlet, { name: fields.get('outlet') ?? '', note: fields.get('note') ?? '' });
    return `${document.name} is paused.`;
  });
  addStartOutlet(app, pages);
  app.post('/system/examine', { config: { access: 'form', role: 'operate' } }, (request, reply) =>
    answerForm({ request, reply, pages, form: DOCTOR_FORM, back: '/system' }, async ({ requireRole }) => {
      requireRole(DOCTOR);
      examination = await doctor.examine();
      const open = examination.findings.filter(({ status }) => status !== 'ok').length;
      return open === 0 ? 'Examined: no faults.' : `Examined: ${counted(open, 'finding')}.`;
    }),
  );
  app.post('/system/verify', { config: { access: 'form', role: 'read' } }, (request, reply) =>
    answerForm({ request, reply, pages, form: 'verify', back: '/system' }, async () => {
      const { ok, faults, runs, entries } = await runRead(scopeOf(request), verifyLedger, {});
      if (ok) return `Ledger verified: ${formatInteger(runs)} runs and ${formatInteger(entries)} entries.`;
      throw new AppError('ledger_unsound', `${counted(faults.length, 'fault')}: ${faults[0]?.message ?? ''}`);
    }),
  );
}
