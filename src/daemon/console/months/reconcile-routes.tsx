import type { FastifyInstance, FastifyRequest } from 'fastify';
import { systemClock } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import type { InputFile } from '../../../input-files/input-file.ts';
import type { Scope } from '../../../operations/operation.ts';
import { ALL_ROWS } from '../../../operations/operation.ts';
import { reconcileInvoices } from '../../../operations/reconciliations/reconcile-invoices.ts';
import { readView } from '../../../operations/usage/read-view.ts';
import { ApiError } from '../../api/problem.ts';
import type { ConsolePages } from '../console-pages.ts';
import { answerForm, type SentForm } from '../shell/change.ts';
import { HeldUploads } from '../shell/held-uploads.ts';
import { sendPage } from '../shell/render-page.ts';
import { type Comparison, readComparison } from './comparison.ts';
import { ComparisonPage, RECORD_FORM, recordedText } from './comparison-page.tsx';
import { periodOf } from './period-of.ts';
import { RECONCILE_FORM, type RecordedReconciliation } from './reconcile-card.tsx';

/** An uploaded invoice file, the options for reading it, and the result of the comparison. */
interface ComparedFile {
  period: string;
  file: InputFile;
  input: Readonly<Record<string, unknown>>;
  comparison: Comparison;
  notes: readonly string[];
}

/** The fields of the form that are passed to the operation unchanged. */
const TEXT_FIELDS = [
  ...(['preset', 'workspace', 'workspace_column', 'tenant_column', 'amount_column', 'credits_column'] as const),
  ...(['currency_column', 'invoice_column', 'currency', 'tolerance', 'sheet', 'decimal'] as const),
];

/**
 * Serves the comparison of a month with an uploaded invoice file, in three steps: upload and compare, look at the
 * result, record it.
 */
export function addReconciling(app: FastifyInstance, pages: ConsolePages): void {
  const { visitOf, sessionClock = systemClock } = pages;
  const uploads = new HeldUploads<ComparedFile>(sessionClock);
  const pathOf = (period: string, id: string): string => `/months/${period}/reconcile/${id}`;
  const find = (request: FastifyRequest): ComparedFile => {
    const found = uploads.find(request.session, idOf(request));
    if (found !== null && found.period === periodOf(request)) return found;
    throw new ApiError(404, 'unknown_upload', 'the uploaded file is no longer here', {
      hint: 'upload it again on the page of the month: a file is kept for 30 minutes',
    });
  };
  app.post('/months/:period/reconcile', { config: { access: 'form', role: 'finance' } }, (request, reply) => {
    const period = periodOf(request);
    const back = `/months/${period}`;
    return answerForm({ request, reply, pages, form: RECONCILE_FORM, back }, async (sent) => {
      const { file, session, fields } = sent;
      if (file === null) throw new AppError('no_file', 'No file is chosen.', { hint: 'Choose the invoice file.' });
      const texts = TEXT_FIELDS.map((name) => [name, fields.get(name) ?? ''] as const);
      const input = {
        ...Object.fromEntries(texts),
        minor_units: fields.get('minor_units') === 'true' ? true : undefined,
        service: fields.get('ledger_only') === 'true' ? false : undefined,
      };
      const compared = await compare(sent, { period, file, input });
      return { next: pathOf(period, uploads.hold(session, compared, file.bytes.length)) };
    });
  });
  app.get('/months/:period/reconcile/:id', (request, reply) => {
    const { period, file, comparison, notes } = find(request);
    return sendPage(
      reply,
      <ComparisonPage
        visit={visitOf(request)}
        period={period}
        fileName={file.name}
        comparison={comparison}
        notes={notes}
        recordPath={`${pathOf(period, idOf(request))}/record`}
      />,
    );
  });
  app.post(
    '/months/:period/reconcile/:id/record',
    { config: { access: 'form', role: 'finance' } },
    (request, reply) => {
      const period = periodOf(request);
      const id = idOf(request);
      return answerForm({ request, reply, pages, form: RECORD_FORM, back: pathOf(period, id) }, async (sent) => {
        const shown = find(request);
        const again = await compare(sent, shown);
        if (again.comparison.digest !== shown.comparison.digest) {
          uploads.update(id, again);
          throw new AppError('figures_changed', 'The figures have changed since this page was shown.', {
            hint: 'Check the new ones below, then record them.',
          });
        }
        const { file, input } = shown;
        const recorded = {
          ...input,
          period,
          file,
          note: sent.fields.get('note') ?? '',
          dry_run: false,
          totals_only: true,
        };
        const { document, notes } = await sent.run(reconcileInvoices, recorded);
        uploads.drop(id);
        sent.session.notice = {
          kind: 'good',
          text: [recordedText(document.totals.tenants), ...notes].join(' '),
        };
        return { next: `/months/${period}` };
      });
    },
  );
}

async function compare(
  { read }: SentForm,
  { period, file, input }: Pick<ComparedFile, 'period' | 'file' | 'input'>,
): Promise<ComparedFile> {
  return { period, file, input, ...(await read(readComparison, { ...input, period, file })) };
}

/** Returns the recorded comparisons of a month, the latest first. */
export function recordedReconciliations(scope: Scope, period: string): RecordedReconciliation[] {
  const { rows } = readView.run(scope, { view: 'reconciliations', period }, ALL_ROWS);
  const recorded = [...rows] as unknown as RecordedReconciliation[];
  return recorded.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
}

function idOf({ params }: FastifyRequest): string {
  return (params as { id: string }).id;
}
