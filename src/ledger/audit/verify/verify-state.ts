import { FigureColumns } from '../../journal/staging/figure-columns.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { ENTRY_KINDS } from '../../store/schema/keys.ts';
import { FAULTS_A_CHECK, type Fault } from './fault.ts';

interface StrangeKey {
  workspaceId: string | null;
  period: string | null;
  tenantId: string | null;
  credits: bigint | null;
  requests: bigint | null;
  creditsSum: bigint | null;
  requestsSum: bigint | null;
  sumsAgree: bigint;
}

/**
 * The sum of a key's deltas equals its current state, whose marks are those of its first and last entry; neither exists
 * without the other.
 */
export function checkState(connection: LedgerConnection): Fault[] {
  const rows = connection
    .prepare(
      `WITH sums AS (
         SELECT period_key, tenant_key, sum(credits_delta) AS creditsSum, sum(requests_delta) AS requestsSum,
           min(entry_id) AS firstId, max(entry_id) AS lastId
         FROM usage_entries GROUP BY period_key, tenant_key),
       strange AS (
         SELECT s.period_key, s.tenant_key, u.credits_used AS credits, u.request_count AS requests, creditsSum,
           requestsSum
         FROM sums s
         LEFT JOIN tenant_usage u ON u.period_key = s.period_key AND u.tenant_key = s.tenant_key
         LEFT JOIN usage_entries f ON f.entry_id = s.firstId
         LEFT JOIN usage_entries l ON l.entry_id = s.lastId
         WHERE u.credits_used IS NOT creditsSum OR u.request_count IS NOT requestsSum
           OR u.withdrawn IS NOT (l.kind = ${ENTRY_KINDS.withdrawn})
           OR u.first_run_key IS NOT f.run_key OR u.changed_run_key IS NOT l.run_key
         UNION ALL
         -- Two halves instead of a FULL JOIN, which SQLite carries out in quadratic time here.
         SELECT u.period_key, u.tenant_key, u.credits_used, u.request_count, NULL, NULL FROM tenant_usage u
         WHERE NOT EXISTS (
           SELECT 1 FROM usage_entries e WHERE e.period_key = u.period_key AND e.tenant_key = u.tenant_key))
       SELECT w.workspace_id AS workspaceId, p.period, t.tenant_id AS tenantId, credits, requests, creditsSum,
         requestsSum, credits IS creditsSum AND requests IS requestsSum AS sumsAgree
       FROM strange s
       LEFT JOIN periods p ON p.period_key = s.period_key
       LEFT JOIN tenants t ON t.tenant_key = s.tenant_key
       LEFT JOIN workspaces w ON w.workspace_key = p.workspace_key
       LIMIT ${FAULTS_A_CHECK}`,
    )
    .safeIntegers()
    .all() as StrangeKey[];
  return rows.map((row) => {
    const key = `${row.period} of tenant ${JSON.stringify(row.tenantId)}`;
    const where = `in workspace ${JSON.stringify(row.workspaceId)}`;
    const message =
      row.sumsAgree === 1n
        ? `${key} ${where} has marks (withdrawn, first run, last run) that are not those of its entries`
        : `${key} stands at ${row.credits} credits and ${row.requests} requests ${where}, its entries sum to ${row.creditsSum} and ${row.requestsSum}`;
    return { check: 'invariant', runId: null, entryId: null, message };
  });
}

/**
 * What the last run has shown of a period is what the state holds of it, but for what was withdrawn or is absent. A wrong
 * digest here would have the next run take changed figures for the same.
 */
export function checkFigures(connection: LedgerConnection): Fault[] {
  const periods = connection
    .prepare(
      `SELECT p.period_key AS periodKey, p.period, w.workspace_id AS workspaceId, p.figures_digest AS digest
       FROM periods p JOIN workspaces w USING (workspace_key)
       WHERE p.figures_digest IS NOT NULL ORDER BY p.period_key`,
    )
    .all() as { periodKey: number; period: string; workspaceId: string; digest: Buffer }[];
  const shown = connection
    .prepare(
      `SELECT tenant_key, credits_used, request_count FROM tenant_usage u
       WHERE period_key = ? AND withdrawn = 0 AND NOT EXISTS (
         SELECT 1 FROM absences a WHERE a.period_key = u.period_key AND a.tenant_key = u.tenant_key)`,
    )
    .safeIntegers()
    .raw();
  const faults: Fault[] = [];
  for (const { periodKey, period, workspaceId, digest } of periods) {
    const figures = new FigureColumns();
    for (const row of shown.iterate(periodKey)) {
      const [tenantKey, credits, requests] = row as [bigint, bigint, bigint];
      figures.add(Number(tenantKey), plain(credits), plain(requests));
    }
    if (figures.inOrder().digest().equals(digest)) continue;
    const message = `${period} of workspace ${JSON.stringify(workspaceId)}: its figures are not those that its last run has shown`;
    faults.push({ check: 'periods', runId: null, entryId: null, message });
    if (faults.length === FAULTS_A_CHECK) break;
  }
  return faults;
}

/** A number where a double holds it exactly, as the service's answers are read. */
function plain(figure: bigint): number | bigint {
  return Number.isSafeInteger(Number(figure)) ? Number(figure) : figure;
}
