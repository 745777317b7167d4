import type { UsageRow } from '../../reports/queries/usage.ts';
import type { UsageItem } from '../../usage-api/answers/check-item.ts';
import type { UsageApiClient } from '../../usage-api/client.ts';

/** One tenant's history as the service gives it now. */
export interface LiveHistory {
  items: UsageItem[];
  /** False when the pages did not add up to what the service announced: the listing moved while it was read. */
  complete: boolean;
}

/** Reads all pages of 4.4, one after the other. A period that comes twice counts once, as it came last. */
export async function fetchLiveHistory(
  client: UsageApiClient,
  tenantId: string,
  perPage: number,
  signal: AbortSignal,
): Promise<LiveHistory> {
  const byPeriod = new Map<string, UsageItem>();
  for (let page = 1; ; page += 1) {
    const { usage, total_pages, total_records } = await client.getTenantUsage(tenantId, { page, perPage }, { signal });
    for (const item of usage) byPeriod.set(item.period, item);
    // An empty page ends the walk too: a service that announces pages without end must not keep us.
    if (page < total_pages && usage.length > 0) continue;
    return { items: [...byPeriod.values()], complete: byPeriod.size === total_records };
  }
}

export interface Figures {
  credits_used: bigint;
  request_count: bigint;
}

/** A period of a tenant in the ledger and at the service, side by side. */
export interface Comparison {
  period: string;
  /** Null when the ledger has nothing, or holds the record as withdrawn. */
  ledger: Figures | null;
  service: Figures | null;
  /** Credits of the service minus those of the ledger; what is absent counts 0. */
  credits_difference: bigint;
  same: boolean;
}

/** Every period that either side has, in order. */
export function compareHistories(ledger: readonly UsageRow[], service: readonly UsageItem[]): Comparison[] {
  const ours = new Map(ledger.filter((row) => !row.withdrawn).map((row) => [row.period, figuresOf(row)]));
  const theirs = new Map(service.map((item) => [item.period, figuresOf(item)]));
  const periods = [...new Set([...ours.keys(), ...theirs.keys()])].sort();
  return periods.map((period) => {
    const ledgerFigures = ours.get(period) ?? null;
    const serviceFigures = theirs.get(period) ?? null;
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
