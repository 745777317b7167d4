import { z } from 'zod';
import { AppError, summarizeError } from '../../core/errors.ts';
import { isInPeriods, type Period, type PeriodWindow } from '../../core/period.ts';
import type { UsageRow } from '../../reports/queries/usage.ts';
import type { UsageItem } from '../../usage-api/answers/check-item.ts';
import type { UsageApiClient } from '../../usage-api/client.ts';
import type { Scope } from '../operation.ts';

const figuresSchema = z.strictObject({
  credits_used: z.bigint(),
  request_count: z.bigint(),
});

const comparisonSchema = z.strictObject({
  period: z.string(),
  ledger: figuresSchema.nullable().describe('null when the ledger has no record, or a withdrawn one'),
  service: figuresSchema.nullable().describe('null when the service has no record'),
  credits_difference: z
    .bigint()
    .describe('credits of the service minus credits of the ledger; a missing side counts as 0'),
  same: z.boolean(),
});

const errorSchema = z.strictObject({ code: z.string(), message: z.string(), hint: z.string().nullable() });

export const liveReportSchema = z.union([
  z.strictObject({
    complete: z.boolean().describe('false when the listing of the service changed while it was read'),
    periods: z.array(comparisonSchema),
  }),
  z.strictObject({ error: errorSchema }),
]);

export type Comparison = z.output<typeof comparisonSchema>;
export type LiveReport = z.output<typeof liveReportSchema>;
type Figures = z.output<typeof figuresSchema>;

/**
 * Reads a tenant's history from the service and compares it with the ledger. If the service fails, the report contains
 * its error.
 */
export async function compareWithService(
  { context, signal }: Pick<Scope, 'context' | 'signal'>,
  wanted: {
    workspaceId: string;
    tenantId: string;
    period: Period | PeriodWindow | undefined;
    usage: readonly UsageRow[];
  },
): Promise<LiveReport> {
  const { workspaceId, tenantId, period: selected, usage } = wanted;
  try {
    const workspace = context.workspace(workspaceId);
    const live = await fetchHistory(await context.client(workspace), tenantId, workspace.perPage, signal);
    const periods = compareHistories(usage, live.items);
    return { complete: live.complete, periods: periods.filter(({ period }) => isInPeriods(period, selected)) };
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    const { code, message, hint = null } = summarizeError(error);
    return { error: { code, message, hint } };
  }
}

interface History {
  items: UsageItem[];
  /**
   * False if the pages have fewer or more records than the service announced, because the listing changed while it was
   * read.
   */
  complete: boolean;
}

/** Reads all pages of a tenant's history, one after the other. If a period appears twice, its last record is used. */
async function fetchHistory(
  client: UsageApiClient,
  tenantId: string,
  perPage: number,
  signal: AbortSignal,
): Promise<History> {
  const byPeriod = new Map<string, UsageItem>();
  for (let page = 1; ; page += 1) {
    const { usage, total_pages, total_records } = await client.getTenantUsage(tenantId, { page, perPage }, { signal });
    for (const item of usage) byPeriod.set(item.period, item);
    // An empty page also ends the reading, because a service may announce pages without end.
    if (page < total_pages && usage.length > 0) continue;
    return { items: [...byPeriod.values()], complete: byPeriod.size === total_records };
  }
}

function compareHistories(ledger: readonly UsageRow[], service: readonly UsageItem[]): Comparison[] {
  const ledgerSide = new Map(ledger.filter((row) => !row.withdrawn).map((row) => [row.period, figuresOf(row)]));
  const readServiceFigures = new Map(service.map((item) => [item.period, figuresOf(item)]));
  const periods = [...new Set([...ledgerSide.keys(), ...readServiceFigures.keys()])].sort();
  return periods.map((period) => {
    const ledgerFigures = ledgerSide.get(period) ?? null;
    const serviceFigures = readServiceFigures.get(period) ?? null;
    return {
      period,
      ledger: ledgerFigures,
      service: serviceFigures,
      credits_difference: (serviceFigures?.credits_used ?? 0n) - (ledgerFigures?.credits_used ?? 0n),
      same:
        ledgerFigures?.credits_used === serviceFigures?.credits_used &&
        ledgerFigures?.request_count === serviceFigures?.request_count,
    };
  });
}

function figuresOf(record: { credits_used: number | bigint; request_count: number | bigint }): Figures {
  return { credits_used: BigInt(record.credits_used), request_count: BigInt(record.request_count) };
}
