import { parentPort, workerData } from 'node:worker_threads';
import { type PackedError, packError } from '../../../core/errors.ts';
import { openReader } from '../../../ledger/store/file/open.ts';
import { type Charts, createCharts } from '../../../reports/page/charts.ts';
import { drawTenant, drawWorkspace, type ReportCharts } from '../../../reports/page/draw-charts.ts';
import { type PageData, type PageRequest, readPageData } from '../../../reports/page/page-data.ts';
import { readTenantPage, type TenantPageData } from '../../../reports/page/tenant-data.ts';

export type ReportOrder = PageRequest & { tenantId?: string | undefined };

/**
 * The figures and charts of a report. The main thread makes the page from them, because parts of the page differ
 * between visitors.
 */
export type Report =
  | { kind: 'workspace'; data: PageData; charts: ReportCharts }
  | { kind: 'tenant'; data: TenantPageData; charts: ReportCharts };

export type ReportReply = { id: number } & ({ report: Report | null } | { error: PackedError });

let charts: Charts | null = null;

async function makeReport(ledgerPath: string, order: ReportOrder): Promise<Report | null> {
  charts ??= await createCharts();
  const drawing = charts;
  const { tenantId } = order;
  const { connection, close } = openReader(ledgerPath);
  try {
    return connection.transaction((): Report | null => {
      if (tenantId !== undefined) {
        const data = readTenantPage(connection, { ...order, tenantId });
        return data === null ? null : { kind: 'tenant', data, charts: drawTenant(data, drawing) };
      }
      const data = readPageData(connection, order);
      return data === null ? null : { kind: 'workspace', data, charts: drawWorkspace(data, drawing) };
    })();
  } finally {
    close();
  }
}

/**
 * This file runs as a worker thread and is never imported. Drawing is synchronous, so reports are made one after
 * another.
 */
parentPort?.on('message', async ({ id, order }: { id: number; order: ReportOrder }) => {
  const reply = await makeReport(workerData as string, order).then(
    (report): ReportReply => ({ id, report }),
    (error: unknown): ReportReply => ({ id, error: packError(error) }),
  );
  parentPort?.postMessage(reply);
});
