import type { FastifyInstance } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { counted } from '../../../core/text/words.ts';
import { replayMessages } from '../../../operations/alerts/replay-messages.ts';
import { testChannel } from '../../../operations/alerts/test-channel.ts';
import { verifyLedger } from '../../../operations/system/verify-ledger.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import type { ConsolePages } from '../console-pages.ts';
import { answerForm, type SentForm } from '../shell/change.ts';
import { sendPage } from '../shell/render-page.ts';
import { fieldsOf } from '../sign-in/form-guard.ts';
import { readSystem } from './read-system.ts';
import { SystemPage } from './system-page.tsx';

/** Serves the state of the daemon, with forms that test, replay and verify. */
export function addSystem(app: FastifyInstance, pages: ConsolePages): void {
  const { visitOf, scopeOf, probe, measured } = pages;
  app.get('/system', async (request, reply) => {
    const system = await readSystem(scopeOf(request), { probe, measured });
    return sendPage(reply, <SystemPage visit={visitOf(request)} system={system} />);
  });
  const addForm = (action: string, change: (sent: SentForm) => Promise<string>): void => {
    app.post(`/system/${action}`, { config: { access: 'form', role: 'operate' } }, (request, reply) => {
      const name = fieldsOf(request).get('channel');
      const form = name === null ? action : `test ${name}`;
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
  app.post('/system/verify', { config: { access: 'form', role: 'read' } }, (request, reply) =>
    answerForm({ request, reply, pages, form: 'verify', back: '/system' }, async () => {
      const { ok, faults, runs, entries } = await verifyLedger.run(scopeOf(request), {});
      if (ok) return `Ledger verified: ${formatInteger(runs)} runs and ${formatInteger(entries)} entries.`;
      throw new AppError('ledger_unsound', `${counted(faults.length, 'fault')}: ${faults[0]?.message ?? ''}`);
    }),
  );
}
