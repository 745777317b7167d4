import type { SideFigures } from '../../billing/reconcile/reconcile.ts';
import type { StatementDocument } from '../../billing/statement/document.ts';
import { AppError, UsageError } from '../../core/errors.ts';
import { parseMinor } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import type { Context } from '../../wiring/context.ts';
import type { CsvRecord } from '../shared/csv-file.ts';

/** The file's columns. */
export interface MappedColumns {
  tenantColumn: string;
  creditsColumn?: string;
  amountColumn?: string;
}

/** What each tenant was charged, by the ledger. */
export function ledgerSide({ tenants }: StatementDocument, currency: string | null): Map<string, SideFigures> {
  return new Map(
    tenants.map(({ tenant_id, credits_used, totals }) => {
      const total = totals.find((candidate) => candidate.currency === currency);
      return [tenant_id, { credits: credits_used, amountMinor: total?.amount_minor ?? null }];
    }),
  );
}

/** What the service says now. */
export async function serviceSide(
  context: Context,
  workspaceId: string,
  period: Period,
  signal: AbortSignal,
): Promise<Map<string, SideFigures>> {
  const workspace = context.workspace(workspaceId);
  const client = await context.client(workspace);
  const found = new Map<string, SideFigures>();
  for (let page = 1; ; page += 1) {
    const query = { fromPeriod: period, toPeriod: period, page, perPage: workspace.perPage };
    const { usage, total_pages, total_records } = await client.getWorkspaceUsage(query, { signal });
    for (const item of usage) found.set(item.tenant_id, { credits: BigInt(item.credits_used), amountMinor: null });
    // An empty page ends the walk too: a service that announces pages without end must not keep us.
    if (page < total_pages && usage.length > 0) continue;
    if (found.size === total_records) return found;
    throw new AppError('listing_moved', 'the listing moved while it was read', { hint: 'try again', retryable: true });
  }
}

/** What the file says, by the columns that it is mapped by. */
export function invoiceSide(
  records: readonly CsvRecord[],
  { tenantColumn, creditsColumn, amountColumn }: MappedColumns,
  currency: string | null,
): Map<string, SideFigures> {
  const sides = new Map<string, SideFigures>();
  records.forEach((record, index) => {
    const tenantId = record[tenantColumn] ?? '';
    const credits = creditsColumn === undefined ? null : parseCredits(record[creditsColumn] ?? '');
    const amount =
      amountColumn === undefined || currency === null ? null : parseMinor(record[amountColumn] ?? '', currency);
    const bad = (creditsColumn !== undefined && credits === null) || (amountColumn !== undefined && amount === null);
    if (bad) {
      throw new UsageError(
        `record ${index + 1} of the file has a figure that is none`,
        'write credits as whole numbers and amounts as plain decimals such as 1234.50, no finer than the currency',
      );
    }
    // An invoice may have several lines of one tenant.
    const before = sides.get(tenantId);
    sides.set(tenantId, {
      credits: credits === null ? null : credits + (before?.credits ?? 0n),
      amountMinor: amount === null ? null : amount + (before?.amountMinor ?? 0n),
    });
  });
  return sides;
}

function parseCredits(text: string): bigint | null {
  return /^-?\d{1,19}$/.test(text.trim()) ? BigInt(text.trim()) : null;
}
