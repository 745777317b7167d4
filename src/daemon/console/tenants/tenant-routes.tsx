import type { FastifyInstance } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { isPeriod, periodAt } from '../../../core/period.ts';
import { listAlerts } from '../../../operations/alerts/list-alerts.ts';
import { ALL_ROWS } from '../../../operations/operation.ts';
import { rankTenants } from '../../../operations/tenants/rank-tenants.ts';
import { readTenantPage } from '../../../reports/page/tenant-data.ts';
import { latestMonths } from '../../../reports/queries/month-totals.ts';
import { TENANT_SORTS } from '../../../reports/queries/tenant-ranking.ts';
import type { ConsolePages } from '../console-pages.ts';
import { answerForm } from '../shell/change.ts';
import { tenantLink } from '../shell/formats.ts';
import { pageNumber, textOf } from '../shell/query.ts';
import { sendPage } from '../shell/render-page.ts';
import { saveTenant, TENANT_FORM } from './edit-card.tsx';
import { TENANTS_PER_PAGE, type TenantFilters, TenantListPage } from './list-page.tsx';
import { TenantPage } from './tenant-page.tsx';

const MAX_TENANT_MONTHS = 36;
const MAX_TENANT_ALERTS = 12;

/** Serves the list of tenants with its search, and the page of a tenant. */
export function addTenants(app: FastifyInstance, pages: ConsolePages): void {
  const { visitOf, scopeOf, context } = pages;
  app.get('/tenants', async (request, reply) => {
    const scope = scopeOf(request);
    const filters = readFilters(request.query as Record<string, unknown>, context.clock.now());
    const { page, ...wanted } = filters;
    const input = { ...wanted, limit: TENANTS_PER_PAGE, offset: (page - 1) * TENANTS_PER_PAGE };
    const ranking = await rankTenants.run(scope, rankTenants.input.parse(input));
    const months = [...new Set([filters.period, ...latestMonths(scope.connection, '9999-12', MAX_TENANT_MONTHS)])];
    return sendPage(
      reply,
      <TenantListPage
        visit={visitOf(request)}
        filters={filters}
        ranking={ranking}
        workspaces={context.config.workspaces}
        months={months.sort().reverse()}
      />,
    );
  });
  app.post('/tenants/:workspace/:tenant/edit', { config: { access: 'form', role: 'finance' } }, (request, reply) => {
    const place = request.params as { workspace: string; tenant: string };
    const back = tenantLink(place.workspace, place.tenant);
    return answerForm({ request, reply, pages, form: TENANT_FORM, back }, (sent) =>
      saveTenant(sent, context.reader().connection, place),
    );
  });
  app.get('/tenants/:workspace/:tenant', (request, reply) => {
    const scope = scopeOf(request);
    const { workspace, tenant } = request.params as { workspace: string; tenant: string };
    const period = textOf(request, 'period');
    const nowMs = context.clock.now();
    const place = { workspaceId: workspace, tenantId: tenant };
    const data = scope.connection.transaction(() =>
      readTenantPage(scope.connection, { ...place, period: isPeriod(period ?? '') ? period : undefined, nowMs }),
    )();
    if (data === null) throw tenantNotFound(workspace, tenant);
    const { matching } = listAlerts.run(scope, { workspace, tenant, all: true }, ALL_ROWS);
    const alerts = matching
      .toSorted((a, b) => (a.last_changed_at < b.last_changed_at ? 1 : -1))
      .slice(0, MAX_TENANT_ALERTS);
    const openAlerts = listAlerts.run(scope, { workspace, tenant }, ALL_ROWS).matching.length;
    return sendPage(reply, <TenantPage visit={visitOf(request)} data={data} alerts={alerts} openAlerts={openAlerts} />);
  });
}

function readFilters(query: Record<string, unknown>, nowMs: number): TenantFilters {
  const period = textOf({ query }, 'period') ?? '';
  const sort = TENANT_SORTS.find((each) => each === query.sort);
  return {
    search: textOf({ query }, 'search')?.slice(0, 200),
    workspace: textOf({ query }, 'workspace'),
    period: isPeriod(period) ? period : periodAt(nowMs),
    sort: sort ?? 'credits',
    page: pageNumber({ query }),
  };
}

function tenantNotFound(workspaceId: string, tenantId: string): AppError {
  const message = `the ledger has no usage of tenant ${JSON.stringify(tenantId)} in workspace ${JSON.stringify(workspaceId)}`;
  return new AppError('unknown_tenant', message, { hint: 'search for part of its name on the page Tenants' });
}
