import type { LedgerConnection } from '../../ledger/file/open.ts';

/** A month of a workspace: of a closed one the figures of its close count. */
export interface MonthKey {
  period_key: bigint;
  closed_seq: bigint | null;
}

export interface TenantMove {
  tenantId: string;
  credits: bigint;
  /** Of the month before; null without a record. */
  previous: bigint | null;
  change: bigint;
}

function tableOf(closedSeq: bigint | null | undefined): 'tenant_usage' | 'closed_usage' {
  return closedSeq === null || closedSeq === undefined ? 'tenant_usage' : 'closed_usage';
}

/** As `finance_period_totals` has them: the tenants that are not withdrawn, and the credits of all. */
export function monthFigures(
  connection: LedgerConnection,
  { period_key, closed_seq }: MonthKey,
): { tenants: number; credits: bigint } {
  const sql =
    closed_seq === null
      ? `SELECT count(*) FILTER (WHERE withdrawn = 0) AS tenants, coalesce(sum(credits_used), 0) AS credits
         FROM tenant_usage WHERE period_key = ?`
      : 'SELECT tenants, credits_used AS credits FROM period_events WHERE event_seq = ?';
  const found = connection
    .prepare(sql)
    .safeIntegers()
    .get(closed_seq ?? period_key) as Record<'tenants' | 'credits', bigint>;
  return { tenants: Number(found.tenants), credits: found.credits };
}

/** The tenants with the most credits of a month, the most first. Names are looked up for few: a month may have a million. */
export function largestTenants(
  connection: LedgerConnection,
  { period_key, closed_seq }: MonthKey,
  limit: number,
): string[] {
  const table = tableOf(closed_seq);
  return connection
    .prepare(
      `SELECT t.tenant_id FROM ${table} u JOIN tenants t USING (tenant_key)
       WHERE u.period_key = :period_key AND u.withdrawn = 0 AND u.credits_used >= coalesce((
         SELECT credits_used FROM ${table} WHERE period_key = :period_key AND withdrawn = 0
         ORDER BY credits_used DESC LIMIT 1 OFFSET :limit - 1), u.credits_used)
       ORDER BY u.credits_used DESC, t.tenant_id LIMIT :limit`,
    )
    .pluck()
    .all({ period_key, limit }) as string[];
}

/** The tenants whose credits moved most since the month before, as `finance_period_changes` has them, the most first. */
export function largestMoves(
  connection: LedgerConnection,
  { period_key, closed_seq }: MonthKey,
  limit: number,
): TenantMove[] {
  const before = connection
    .prepare('SELECT closed_seq FROM periods WHERE period_key = ?')
    .pluck()
    .safeIntegers()
    .get(period_key - 1n) as bigint | null | undefined;
  return connection
    .prepare(
      `WITH moves AS MATERIALIZED (
         SELECT u.tenant_key, u.credits_used AS credits, v.credits_used AS previous,
           u.credits_used - coalesce(v.credits_used, 0) AS change
         FROM ${tableOf(closed_seq)} u
         LEFT JOIN ${tableOf(before)} v ON v.period_key = u.period_key - 1 AND v.tenant_key = u.tenant_key
         WHERE u.period_key = :period_key)
       SELECT t.tenant_id AS tenantId, m.credits, m.previous, m.change FROM moves m JOIN tenants t USING (tenant_key)
       WHERE abs(m.change) >= coalesce((
         SELECT abs(change) FROM moves ORDER BY abs(change) DESC LIMIT 1 OFFSET :limit - 1), abs(m.change))
       ORDER BY abs(m.change) DESC, t.tenant_id LIMIT :limit`,
    )
    .safeIntegers()
    .all({ period_key, limit }) as TenantMove[];
}
