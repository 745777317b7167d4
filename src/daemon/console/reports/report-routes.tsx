import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { isPeriod } from '../../../core/period.ts';
import type { PageLinks } from '../../../reports/page/shared-cards.tsx';
import { ApiError } from '../../api/problem.ts';
import type { ConsolePages } from '../console-pages.ts';
import { linkTo } from '../shell/formats.ts';
import { textOf } from '../shell/query.ts';
import { sendPage } from '../shell/render-page.ts';
import { ReportChoicePage, ReportPage } from './report-page.tsx';

const REPORT_RETRY_SECONDS = 5;

/**
 * Serves `/report?workspace=&period=` and `/report/tenant?workspace=&tenant=&period=`: reports on a month that can be
 * printed. `workspace` is optional if only one is configured.
 */
export function addReports(app: FastifyInstance, pages: ConsolePages): void {
  const { context, reports, visitOf } = pages;
  const answer = async (request: FastifyRequest, reply: FastifyReply, tenantId?: string): Promise<FastifyReply> => {
    const { workspaces } = context.config;
    const period = textOf(request, 'period');
    const wanted = textOf(request, 'workspace') ?? (workspaces.length === 1 ? workspaces[0]?.id : undefined);
    if (wanted === undefined)
      return sendPage(reply, <ReportChoicePage visit={visitOf(request)} workspaces={workspaces} />);
    if (period !== undefined && !isPeriod(period)) {
      const message = `${JSON.stringify(period)} is not a month`;
      throw new ApiError(400, 'bad_request', message, { hint: 'write the month as YYYY-MM' });
    }
    const found = workspaces.find(({ id }) => id === wanted);
    if (found === undefined) {
      const message = `there is no workspace ${JSON.stringify(wanted)}`;
      throw new ApiError(404, 'unknown_workspace', message, { hint: 'choose a workspace at /report' });
    }
    const { id: workspaceId, timezone, alerts } = found;
    const order = {
      workspaceId,
      period,
      tenantId,
      nowMs: context.clock.now(),
      timezone,
      budgets: alerts.budgets ?? [],
    };
    const report = await reports.report(order).catch((error: unknown) => {
      if (error instanceof AppError && error.retryable) reply.header('retry-after', REPORT_RETRY_SECONDS);
      throw error;
    });
    if (report === null) throw new ApiError(404, 'unknown_report', 'the ledger has no data for this report');
    const links = linksOf(workspaceId, report.data.period);
    return sendPage(reply, <ReportPage visit={visitOf(request)} report={report} links={links} />);
  };
  app.get('/report', (request, reply) => answer(request, reply));
  app.get('/report/tenant', (request, reply) => {
    const { tenant } = request.query as Record<string, unknown>;
    if (typeof tenant === 'string') return answer(request, reply, tenant);
    throw new ApiError(400, 'bad_request', 'no tenant is named', { hint: 'name the tenant: /report/tenant?tenant=ID' });
  });
}

function linksOf(workspace: string, period: string): PageLinks {
  return {
    workspace: linkTo('/report', { workspace, period }),
    tenant: (tenant) => linkTo('/report/tenant', { workspace, period, tenant }),
  };
}
