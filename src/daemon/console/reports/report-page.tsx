import type { WorkspaceConfig } from '../../../config/types.ts';
import type { PageLinks } from '../../../reports/page/shared-cards.tsx';
import { TenantReport, tenantTitle } from '../../../reports/page/tenant-report.tsx';
import { WorkspaceReport, workspaceTitle } from '../../../reports/page/workspace-report.tsx';
import type { Report } from '../../http/reports/report-thread.ts';
import { linkTo, tenantLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Card } from '../shell/parts.tsx';
import type { Visit } from '../shell/visit.ts';

/** A report below the console's navigation bar. The bar is not printed. */
export function ReportPage({ visit, report, links }: { visit: Visit; report: Report; links: PageLinks }) {
  const { workspaceId, period } = report.data;
  const isTenant = report.kind === 'tenant';
  const title = isTenant ? tenantTitle(report.data) : workspaceTitle(report.data);
  return (
    <Layout visit={visit} place={isTenant ? 'tenants' : 'months'} title={title}>
      <p class="crumb">
        {isTenant ? (
          <a href={tenantLink(workspaceId, report.data.tenantId)}>Tenant</a>
        ) : (
          <a href={`/months/${period}`}>Month</a>
        )}
      </p>
      <div class="head">
        <h1>{title}</h1>
      </div>
      {isTenant ? (
        <TenantReport data={report.data} charts={report.charts} links={links} />
      ) : (
        <WorkspaceReport data={report.data} charts={report.charts} links={links} />
      )}
    </Layout>
  );
}

/** The page that asks which workspace a report is for. */
export function ReportChoicePage({
  visit,
  workspaces,
}: {
  visit: Visit;
  workspaces: readonly Pick<WorkspaceConfig, 'id' | 'name'>[];
}) {
  return (
    <Layout visit={visit} place={null} title="Usage by workspace">
      <div class="head">
        <h1>Usage by workspace</h1>
      </div>
      <Card title="Workspaces">
        <ul class="links">
          {workspaces.map(({ id, name }) => (
            <li key={id}>
              <a href={linkTo('/report', { workspace: id })}>{name}</a>{' '}
              {name === id ? null : <span class="quiet small">{id}</span>}
            </li>
          ))}
        </ul>
      </Card>
    </Layout>
  );
}
