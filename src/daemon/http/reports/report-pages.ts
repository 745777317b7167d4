import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WorkspaceConfig } from '../../../config/types.ts';
import type { WallClock } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import { isPeriod } from '../../../core/period.ts';
import { htmlText } from '../../../core/text/html-text.ts';
import { pageOf } from '../../../reports/page/page-parts.ts';
import type { ReportMaker } from './report-maker.ts';

export interface ReportPagesOptions {
  workspaces: readonly Pick<WorkspaceConfig, 'id' | 'name' | 'alerts'>[];
  maker: ReportMaker;
  clock: WallClock;
}

const HTML = 'text/html; charset=utf-8';

/** Serves `/report?workspace=&period=` and `/report/tenant?workspace=&tenant=&period=`; the only workspace need not be named. */
export function addReportPages(app: FastifyInstance, { workspaces, maker, clock }: ReportPagesOptions): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply, tenantId?: string): Promise<FastifyReply> => {
    const { workspace, period } = queryOf(request);
    const wanted = workspace ?? (workspaces.length === 1 ? workspaces[0]?.id : undefined);
    if (wanted === undefined) return reply.type(HTML).send(choicePage(workspaces));
    const found = workspaces.find(({ id }) => id === wanted);
    if (period !== undefined && !isPeriod(period)) {
      return reply.code(400).send({ error: 'bad_request', hint: 'write the month as YYYY-MM' });
    }
    if (found === undefined)
      return reply.code(404).send({ error: 'not_found', hint: 'no such workspace is configured' });
    const budgets = found.alerts.budgets ?? [];
    const order = { workspaceId: found.id, period, tenantId, nowMs: clock.now(), budgets };
    try {
      const html = await maker.page(order);
      if (html !== null) return reply.type(HTML).send(html);
      return reply.code(404).send({ error: 'not_found', hint: 'the ledger has nothing of it' });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'report_busy') throw error;
      return reply.code(503).header('retry-after', '5').send({ error: error.code, hint: error.hint });
    }
  };
  app.get('/report', (request, reply) => answer(request, reply));
  app.get('/report/tenant', (request, reply) => {
    const { tenant } = queryOf(request);
    if (tenant !== undefined) return answer(request, reply, tenant);
    return reply.code(400).send({ error: 'bad_request', hint: 'name the tenant: /report/tenant?tenant=ID' });
  });
}

/** What stands in the address, each name once. */
function queryOf({ query }: FastifyRequest): Record<'workspace' | 'period' | 'tenant', string | undefined> {
  const given = query as Record<string, unknown>;
  const one = (name: string) => (typeof given[name] === 'string' ? given[name] : undefined);
  return { workspace: one('workspace'), period: one('period'), tenant: one('tenant') };
}

function choicePage(workspaces: readonly { id: string; name: string }[]): string {
  const items = workspaces.map(({ id, name }) => {
    const address = `/report?${new URLSearchParams({ workspace: id })}`;
    return `<li><a href="${htmlText(address)}">${htmlText(name)}</a> <span class="quiet">${htmlText(id)}</span></li>`;
  });
  return pageOf('Usage by workspace', `<ul>${items.join('')}</ul>`);
}
