import { h } from 'preact';
import { createCharts } from '../../src/reports/page/charts.ts';
import { drawTenant, drawWorkspace } from '../../src/reports/page/draw-charts.ts';
import type { PageData } from '../../src/reports/page/page-data.ts';
import { reportDocument, workspaceDocument } from '../../src/reports/page/report-document.tsx';
import type { PageLinks } from '../../src/reports/page/shared-cards.tsx';
import type { TenantPageData } from '../../src/reports/page/tenant-data.ts';
import { TenantReport, tenantTitle } from '../../src/reports/page/tenant-report.tsx';

/** The report of a workspace as a file. */
export async function workspaceFile(data: PageData): Promise<string> {
  return workspaceDocument(data, drawWorkspace(data, await createCharts()));
}

/** The report of a tenant as a file. */
export async function tenantFile(data: TenantPageData, links: PageLinks): Promise<string> {
  const charts = drawTenant(data, await createCharts());
  return reportDocument(tenantTitle(data), h(TenantReport, { data, charts, links }));
}
