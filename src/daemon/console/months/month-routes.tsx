import type { FastifyInstance } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { isPeriod, periodAt } from '../../../core/period.ts';
import { counted } from '../../../core/text/words.ts';
import { type CloseOutcome, closeMonths } from '../../../operations/months/close-month.ts';
import { listMonths } from '../../../operations/months/list-months.ts';
import { planMonth } from '../../../operations/months/plan-month.ts';
import { reopenMonth } from '../../../operations/months/reopen-month.ts';
import { rankTenants } from '../../../operations/tenants/rank-tenants.ts';
import type { ConsolePages } from '../console-pages.ts';
import { answerForm, type SentForm } from '../shell/change.ts';
import { linkTo } from '../shell/formats.ts';
import { pageNumber, textOf } from '../shell/query.ts';
import { sendPage } from '../shell/render-page.ts';
import { MonthListPage } from './list-page.tsx';
import { MONTH_FORM, MonthPage } from './month-page.tsx';
import { periodOf } from './period-of.ts';
import { recordedReconciliations } from './reconcile-routes.tsx';
import { STATEMENTS_PER_PAGE, StatementsPage } from './statements-page.tsx';
import { addArchives } from './zip-routes.ts';

const MONTHS_PER_PAGE = 12;
const SHOWN_REFUSALS = 3;

/** Serves the list of months, and the page of each month with the forms that close and reopen it. */
export function addMonths(app: FastifyInstance, pages: ConsolePages): void {
  const { visitOf, scopeOf, context } = pages;
  const bundles = addArchives(app, pages);
  app.get('/months', async (request, reply) => {
    const openMonth = periodAt(context.clock.now());
    const wanted = textOf(request, 'until') ?? openMonth;
    const input = { until: isPeriod(wanted) ? wanted : openMonth, months: MONTHS_PER_PAGE + 1 };
    const { months } = await listMonths.run(scopeOf(request), input);
    const last = months.length > MONTHS_PER_PAGE ? months.at(-1) : undefined;
    const earlier = last === undefined ? null : linkTo('/months', { until: last.period });
    return sendPage(
      reply,
      <MonthListPage visit={visitOf(request)} months={months} openMonth={openMonth} earlier={earlier} />,
    );
  });
  app.get('/months/:period', async (request, reply) => {
    const scope = scopeOf(request);
    const period = periodOf(request);
    const plan = await planMonth.run(scope, { period, verify: false });
    const recorded = recordedReconciliations(scope, period);
    const { workspaces } = context.config;
    return sendPage(
      reply,
      <MonthPage
        visit={visitOf(request)}
        plan={plan}
        workspaces={workspaces}
        recorded={recorded}
        bundle={bundles.get(period) ?? null}
        page={pageNumber(request)}
      />,
    );
  });
  app.get('/months/:period/statements', async (request, reply) => {
    const period = periodOf(request);
    const filters = {
      search: textOf(request, 'search')?.slice(0, 200),
      workspace: textOf(request, 'workspace'),
      page: pageNumber(request),
    };
    const { page, ...wanted } = filters;
    const input = { ...wanted, period, limit: STATEMENTS_PER_PAGE, offset: (page - 1) * STATEMENTS_PER_PAGE };
    const ranking = await rankTenants.run(scopeOf(request), rankTenants.input.parse({ ...input, sort: 'amount' }));
    const { workspaces } = context.config;
    return sendPage(
      reply,
      <StatementsPage
        visit={visitOf(request)}
        period={period}
        filters={filters}
        ranking={ranking}
        workspaces={workspaces}
      />,
    );
  });
  const addForm = (action: string, change: (sent: SentForm, period: string) => Promise<string>): void => {
    app.post(`/months/:period/${action}`, { config: { access: 'form', role: 'finance' } }, (request, reply) => {
      const period = periodOf(request);
      const back = `/months/${period}`;
      return answerForm({ request, reply, pages, form: MONTH_FORM, back }, (sent) => change(sent, period));
    });
  };
  addForm('close', close);
  addForm('reopen', reopen);
}

async function close({ run, fields }: SentForm, period: string): Promise<string> {
  const scope = fields.get('scope') ?? 'ready';
  const selected = scope === 'ready' ? undefined : selectedOf(fields);
  const { document, notes } = await run(closeMonths, {
    period,
    note: fields.get('note') ?? '',
    workspaces: selected,
    accept_change: scope === 'accept' ? selected : undefined,
  });
  const closed = document.workspaces.filter(({ result }) => result === 'closed').length;
  const refused = document.workspaces.filter((outcome) => outcome.result === 'refused');
  const others = scope === 'ready' || refused.length === 0 ? [] : [refusalText(refused)];
  return [`${counted(closed, 'workspace')} closed.`, ...others, ...notes].join(' ');
}

async function reopen({ run, fields }: SentForm, period: string): Promise<string> {
  const ids = selectedOf(fields);
  const notes: string[] = [];
  for (const workspace of ids) {
    const changed = await run(reopenMonth, { period, workspace, note: fields.get('note') ?? '' });
    notes.push(...changed.notes);
  }
  return [`${counted(ids.length, 'workspace')} reopened.`, ...notes].join(' ');
}

function selectedOf(fields: URLSearchParams): string[] {
  const ids = [...new Set(fields.getAll('id'))];
  if (ids.length > 0) return ids;
  throw new AppError('none_selected', 'No workspace is selected.', { hint: 'Select workspaces first.' });
}

function refusalText(refused: readonly CloseOutcome[]): string {
  const texts = refused.flatMap((outcome) =>
    outcome.result === 'refused'
      ? [`${outcome.workspace_id}: ${outcome.reasons.map(({ reason }) => reason).join(', ')}`]
      : [],
  );
  const more = texts.length > SHOWN_REFUSALS ? `; and ${texts.length - SHOWN_REFUSALS} more` : '';
  return `Not closed: ${texts.slice(0, SHOWN_REFUSALS).join('; ')}${more}.`;
}
