import type { FastifyInstance, FastifyRequest } from 'fastify';
import { systemClock } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import { addPeriods, isPeriod, periodAt } from '../../../core/period.ts';
import { hasRole } from '../../../core/text/roles.ts';
import { counted } from '../../../core/text/words.ts';
import type { InputFile } from '../../../input-files/input-file.ts';
import { cardsInForce } from '../../../ledger/journal/charges/card-store.ts';
import { CARD_SIDES } from '../../../ledger/store/schema/billing-tables.ts';
import { addLine } from '../../../operations/lines/add-line.ts';
import { listLines } from '../../../operations/lines/list-lines.ts';
import { revokeLine } from '../../../operations/lines/revoke-line.ts';
import { applyRates } from '../../../operations/rates/apply-rates.ts';
import { otherRatesNote } from '../../../operations/rates/other-rates-note.ts';
import { largestBudgetUses, marginMonths } from '../../../reports/queries/margin-months.ts';
import { ApiError } from '../../api/problem.ts';
import type { ConsolePages } from '../console-pages.ts';
import { answerForm, backPath, type SentForm } from '../shell/change.ts';
import { HeldUploads } from '../shell/held-uploads.ts';
import { textOf } from '../shell/query.ts';
import { sendPage } from '../shell/render-page.ts';
import { addedText, LINE_FORM, LINES_PER_PAGE, revokeForm } from './lines-card.tsx';
import { MoneyPage, RATES_FORM } from './money-page.tsx';
import { APPLY_FORM, RatesPage } from './rates-page.tsx';
import { type ReadCards, readCards } from './read-cards.ts';

const SHOWN_BUDGETS = 30;
const MARGIN_MONTHS = 3;

/** Serves prices, margin, budgets and manual lines, with the forms that change them. */
export function addMoney(app: FastifyInstance, pages: ConsolePages): void {
  const { visitOf, scopeOf, context } = pages;
  app.get('/money', (request, reply) => {
    const scope = scopeOf(request);
    const { connection } = scope;
    const openMonth = periodAt(context.clock.now());
    const periods = Array.from({ length: MARGIN_MONTHS }, (_, ago) => addPeriods(openMonth, -ago));
    const cards = CARD_SIDES.flatMap((side) => cardsInForce(connection, side).map((card) => ({ ...card, side })));
    const before = lineIdOf(textOf(request, 'before'));
    const wanted = { after: before === null ? null : [before], limit: LINES_PER_PAGE + 1 };
    const lines = [...listLines.run(scope, { latest_first: true }, wanted).rows];
    const period = textOf(request, 'period') ?? openMonth;
    return sendPage(
      reply,
      <MoneyPage
        visit={visitOf(request)}
        cards={cards}
        otherRates={otherRatesNote(scope)}
        margins={cards.some(({ side }) => side === 'cost') ? marginMonths(connection, periods) : []}
        budgets={largestBudgetUses(connection, SHOWN_BUDGETS)}
        lines={lines.slice(0, LINES_PER_PAGE)}
        hasEarlier={lines.length > LINES_PER_PAGE}
        isLatest={before === null}
        preset={{
          workspace: textOf(request, 'workspace'),
          tenant: textOf(request, 'tenant'),
          period: isPeriod(period) ? period : openMonth,
        }}
        workspaces={context.config.workspaces}
      />,
    );
  });
  app.post('/money/lines', { config: { access: 'form', role: 'finance' } }, (request, reply) =>
    answerForm({ request, reply, pages, form: LINE_FORM, back: '/money' }, async ({ run, fields }) => {
      const field = (name: string): string => (fields.get(name) ?? '').trim();
      const { document, notes } = await run(addLine, {
        workspace: fields.get('workspace') ?? undefined,
        tenant: fields.get('tenant') ?? '',
        period: field('period'),
        amount: field('amount'),
        currency: field('currency').toUpperCase(),
        reason: field('reason'),
      });
      return [addedText(document), ...notes].join(' ');
    }),
  );
  app.post('/money/lines/:line/revoke', { config: { access: 'form', role: 'finance' } }, (request, reply) => {
    const { line } = request.params as { line: string };
    return answerForm(
      { request, reply, pages, form: revokeForm(line), back: backPath(request, '/money') },
      async ({ run, fields }) => {
        const { document, notes } = await run(revokeLine, {
          line_id: Number(line),
          reason: fields.get('reason') ?? '',
        });
        return [`Line ${document.line_id} of ${document.tenant_id} is revoked.`, ...notes].join(' ');
      },
    );
  });
  addRates(app, pages);
}

/** An uploaded file with rate cards, and what these cards would charge. */
interface HeldCards {
  file: InputFile;
  read: ReadCards;
}

function addRates(app: FastifyInstance, pages: ConsolePages): void {
  const { visitOf, sessionClock = systemClock } = pages;
  const uploads = new HeldUploads<HeldCards>(sessionClock);
  const find = (request: FastifyRequest): HeldCards => {
    const found = uploads.find(request.session, uploadIdOf(request));
    if (found !== null) return found;
    throw new ApiError(404, 'unknown_upload', 'the uploaded cards are no longer here', {
      hint: 'upload them again on the page Money: a file is kept for 30 minutes',
    });
  };
  app.post('/money/rates', { config: { access: 'form', role: 'read' } }, (request, reply) =>
    answerForm({ request, reply, pages, form: RATES_FORM, back: '/money' }, async (sent) => {
      const { file, session } = sent;
      if (file === null)
        throw new AppError('no_file', 'No file is chosen.', { hint: 'Choose the file with the cards.' });
      const held = { file, read: await compare(sent, file) };
      return { next: `/money/rates/${uploads.hold(session, held, file.bytes.length)}` };
    }),
  );
  app.get('/money/rates/:id', (request, reply) => {
    const { compared } = find(request).read;
    const applyPath = `/money/rates/${uploadIdOf(request)}/apply`;
    return sendPage(reply, <RatesPage visit={visitOf(request)} compared={compared} applyPath={applyPath} />);
  });
  app.post('/money/rates/:id/apply', { config: { access: 'form', role: 'finance' } }, (request, reply) => {
    const id = uploadIdOf(request);
    return answerForm({ request, reply, pages, form: APPLY_FORM, back: `/money/rates/${id}` }, async (sent) => {
      const { file, read: shown } = find(request);
      const read = await compare(sent, file);
      if (read.digest !== shown.digest) {
        uploads.update(id, { file, read });
        throw new AppError('figures_changed', 'The figures have changed since this page was shown.', {
          hint: 'Check the new ones, then apply the cards.',
        });
      }
      const applied = await sent.run(applyRates, { ...read.cards, dry_run: false, totals_only: true });
      uploads.drop(id);
      const text = `${counted(applied.document.cards, 'rate card is', 'rate cards are')} in force. Open months were repriced.`;
      sent.session.notice = { kind: 'good', text: [text, ...applied.notes].join(' ') };
      return { next: '/money' };
    });
  });
}

function compare({ session, read }: SentForm, file: InputFile): Promise<ReadCards> {
  return read(readCards, { file, may_apply: hasRole(session.caller.role, applyRates.role) });
}

function uploadIdOf({ params }: FastifyRequest): string {
  return (params as { id: string }).id;
}

/** Parses the line id in an address; null if the text is not a line id. */
function lineIdOf(text: string | undefined): bigint | null {
  return text !== undefined && /^\d{1,18}$/.test(text) ? BigInt(text) : null;
}
