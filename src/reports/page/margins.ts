import type { LedgerDb } from '../../ledger/store/ledger-db.ts';

interface PageMargin {
  name: string;
  currency: string;
  revenue: bigint;
  cost: bigint;
}

export interface PageMargins {
  /** The summed revenue and cost of all tenants that have a margin, by currency. */
  totals: PageMargin[];
  /** The tenants with the lowest margins. */
  lowest: PageMargin[];
  without: { why: string; tenants: bigint }[];
}

interface MarginsRequest {
  workspaceId: string;
  period: string;
  limit: number;
  nameOf: (tenantId: string) => string;
}

export function readMargins(connection: LedgerDb, { workspaceId, period, limit, nameOf }: MarginsRequest): PageMargins {
  const all = <Row>(sql: string): Row[] => connection.prepare(sql).safeIntegers().all(workspaceId, period) as Row[];
  const from = 'FROM finance_margin WHERE workspace_id = ? AND period = ?';
  const lowest = all<Omit<PageMargin, 'name'> & { tenant_id: string }>(
    `SELECT tenant_id, currency, revenue_minor AS revenue, cost_minor AS cost ${from} AND no_margin IS NULL
     ORDER BY margin_value, tenant_id LIMIT ${limit}`,
  );
  return {
    totals: all<PageMargin>(
      `SELECT 'All tenants' AS name, currency, sum(revenue_minor) AS revenue, sum(cost_minor) AS cost
       ${from} AND no_margin IS NULL GROUP BY currency ORDER BY currency`,
    ),
    lowest: lowest.map(({ tenant_id, ...row }) => ({ ...row, name: nameOf(tenant_id) })),
    without: all(
      `SELECT no_margin AS why, count(*) AS tenants ${from} AND no_margin IS NOT NULL GROUP BY 1 ORDER BY 1`,
    ),
  };
}
