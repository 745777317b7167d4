import { parentPort, workerData } from 'node:worker_threads';
import { type PackedError, packError } from '../../../core/errors.ts';
import { openReader } from '../../../ledger/store/file/open.ts';
import { type Charts, createCharts } from '../../../reports/page/charts.ts';
import { type PageRequest, readPageData } from '../../../reports/page/page-data.ts';
import { pageHtml } from '../../../reports/page/page-html.ts';
import type { PageLinks } from '../../../reports/page/page-parts.ts';
import { readTenantPage } from '../../../reports/page/tenant-data.ts';
import { tenantHtml } from '../../../reports/page/tenant-html.ts';

export type ReportOrder = PageRequest & { tenantId?: string | undefined };

export type ReportReply = { id: number } & ({ html: string | null } | { error: PackedError });

let charts: Charts | null = null;

async function makePage(ledgerPath: string, order: ReportOrder): Promise<string | null> {
  charts ??= await createCharts();
  const drawing = charts;
  const { workspaceId, tenantId } = order;
  const { connection, close } = openReader(ledgerPath);
  try {
    return connection.transaction(() => {
      if (tenantId !== undefined) {
        const data = readTenantPage(connection, { ...order, tenantId });
        return data === null ? null : tenantHtml(data, drawing, linksOf(workspaceId, data.period));
      }
      const data = readPageData(connection, order);
      return data === null ? null : pageHtml(data, drawing, linksOf(workspaceId, data.period));
    })();
  } finally {
    close();
  }
}

function linksOf(workspaceId: string, period: string): PageLinks {
  const month = new URLSearchParams({ workspace: workspaceId, period });
  return {
    workspace: `/report?${month}`,
    tenant: (tenantId) => `/report/tenant?${month}&${new URLSearchParams({ tenant: tenantId })}`,
  };
}

/** This file runs as a worker thread and is never imported. Rendering is synchronous, so orders run one after another. */
parentPort?.on('message', async ({ id, order }: { id: number; order: ReportOrder }) => {
  const reply = await makePage(workerData as string, order).then(
    (html): ReportReply => ({ id, html }),
    (error: unknown): ReportReply => ({ id, error: packError(error) }),
  );
  parentPort?.postMessage(reply);
});
