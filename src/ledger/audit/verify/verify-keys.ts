import { FigureColumns } from '../../../speed/figure-columns.ts';
import { INVALID_FIGURE_SQL } from '../../journal/runs/sum-limits.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { ENTRY_KINDS, PERIODS_PER_WORKSPACE } from '../../store/schema/keys.ts';
import { FAULTS_PER_CHECK, type Fault, fault } from './fault.ts';

const { opened, increased, decreased, withdrawn, restored } = ENTRY_KINDS;

/**
 * Reports whether `checkEntries` or `checkState` would find a fault; those two checks take about twice as long. The
 * entries of each key (a tenant in a period) are compared in one pass in key order. The values before an entry are its
 * values minus its deltas. They must be zero for the first entry, and the values after the previous entry for every
 * other entry. The sum of the deltas then equals the last entry's values. Does not check that runs and keys belong to
 * the same workspace, because `checkChain` does.
 */
export function hasUnexpectedKey(connection: LedgerDb): boolean {
  const kindByValues = `CASE WHEN kind = ${withdrawn} AND credits_after = 0 AND requests_after = 0 THEN ${withdrawn}
    WHEN credits_delta > 0 OR (credits_delta = 0 AND requests_delta > 0) THEN ${increased} ELSE ${decreased} END`;
  const unexpected = connection
    .prepare(
      `WITH lists AS (
         SELECT period_key, tenant_key, min(entry_id) AS first_id, max(entry_id) AS last_id,
           '0,' || group_concat(credits_after) AS credits, group_concat(credits_after - credits_delta) || ',' AS credits_before,
           '0,' || group_concat(requests_after) AS requests,
           group_concat(requests_after - requests_delta) || ',' AS requests_before,
           -- A restored entry stands after each withdrawn one but the last of all, and nowhere else.
           replace(group_concat(kind, ''), '${withdrawn}${restored}', '-') AS kinds,
           count(*) FILTER (WHERE kind = ${opened}) AS openings, min(entry_id) FILTER (WHERE kind = ${opened}) AS opening_id,
           count(*) FILTER (WHERE kind NOT IN (${opened}, ${restored}) AND kind <> ${kindByValues}) AS misnamed
         FROM usage_entries INDEXED BY usage_entries_by_key GROUP BY period_key, tenant_key)
       SELECT 1 FROM lists k
       LEFT JOIN tenant_usage u ON u.period_key = k.period_key AND u.tenant_key = k.tenant_key
       LEFT JOIN tenants t ON t.tenant_key = k.tenant_key
       LEFT JOIN usage_entries f ON f.entry_id = k.first_id
       LEFT JOIN usage_entries l ON l.entry_id = k.last_id
       WHERE substr(k.credits, 1, length(k.credits_before)) <> k.credits_before
         OR substr(k.requests, 1, length(k.requests_before)) <> k.requests_before
         OR k.misnamed > 0 OR k.openings <> 1 OR k.opening_id <> k.first_id
         OR instr(k.kinds, '${restored}') > 0 OR instr(k.kinds, '${withdrawn}') NOT IN (0, length(k.kinds))
         OR t.workspace_key IS NOT k.period_key / ${PERIODS_PER_WORKSPACE}
         OR u.credits_used IS NOT l.credits_after OR u.request_count IS NOT l.requests_after
         OR u.withdrawn IS NOT (l.kind = ${withdrawn})
         OR u.first_run_key IS NOT f.run_key OR u.changed_run_key IS NOT l.run_key
       UNION ALL
       SELECT 1 FROM tenant_usage u WHERE NOT EXISTS (
         SELECT 1 FROM usage_entries e WHERE e.period_key = u.period_key AND e.tenant_key = u.tenant_key)
       LIMIT 1`,
    )
    .get();
  return unexpected !== undefined;
}

/**
 * SQL condition that is true when all four figures of the entry `e` (its deltas, and its values after the change) are
 * valid.
 */
export const IS_FIGURES = `${INVALID_FIGURE_SQL} NOT IN (e.credits_delta, e.requests_delta, e.credits_after, e.requests_after)`;

interface UnexpectedKeyEntry {
  entryId: number;
  runId: string | null;
  strayed: number;
  valuesAgree: number;
  isFigure: number;
}

/**
 * Checks each entry against the previous entry of the same key. Its values must be the previous values plus its deltas,
 * its kind must match its values, and its period and tenant must belong to the workspace of its run. Digests do not
 * reveal a wrong workspace, because they contain only the names of periods and tenants, which two workspaces may share.
 */
export function checkEntries(connection: LedgerDb): Fault[] {
  const rows = connection
    .prepare(
      `SELECT entryId, runId, strayed, credits_after = coalesce(credits_before, 0) + credits_delta
         AND requests_after = coalesce(requests_before, 0) + requests_delta AS valuesAgree, isFigure
       FROM (
         SELECT e.entry_id AS entryId, r.run_id AS runId, e.kind, e.credits_after, e.requests_after, e.credits_delta,
           e.requests_delta, lag(e.credits_after) OVER key AS credits_before,
           lag(e.requests_after) OVER key AS requests_before, lag(e.kind) OVER key AS kind_before,
           e.period_key / ${PERIODS_PER_WORKSPACE} IS NOT r.workspace_key OR t.workspace_key IS NOT r.workspace_key AS strayed,
           ${IS_FIGURES} AS isFigure
         FROM usage_entries e INDEXED BY usage_entries_by_key LEFT JOIN runs r USING (run_key)
           LEFT JOIN tenants t USING (tenant_key)
         WINDOW key AS (PARTITION BY e.period_key, e.tenant_key ORDER BY e.entry_id))
       WHERE strayed OR NOT valuesAgree OR NOT isFigure OR kind <> CASE
         WHEN kind_before IS NULL THEN ${opened}
         WHEN kind_before = ${withdrawn} THEN ${restored}
         WHEN kind = ${withdrawn} AND credits_after = 0 AND requests_after = 0 THEN ${withdrawn}
         WHEN credits_delta > 0 OR (credits_delta = 0 AND requests_delta > 0) THEN ${increased}
         ELSE ${decreased} END
       ORDER BY entryId LIMIT ${FAULTS_PER_CHECK}`,
    )
    .all() as UnexpectedKeyEntry[];
  return rows.map(({ entryId, runId, strayed, valuesAgree, isFigure }) => ({
    check: 'entries',
    runId,
    entryId,
    message:
      valuesAgree === 0
        ? `the values of entry ${entryId} are not the previous ones plus its deltas`
        : isFigure === 0
          ? `entry ${entryId} has a figure of -2^63, which is not valid`
          : strayed === 1
            ? `entry ${entryId} belongs to a period or tenant outside its run's workspace`
            : `the kind of entry ${entryId} does not match its values`,
  }));
}

interface UnexpectedKey {
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
 * Checks that the sum of a key's deltas equals its current state; that the columns `withdrawn`, `first_run_key` and
 * `changed_run_key` of the state match the key's first and last entry; and that every key with entries has a state, and
 * every key with a state has entries.
 */
export function checkState(connection: LedgerDb): Fault[] {
  const rows = connection
    .prepare(
      `WITH sums AS (
         SELECT period_key, tenant_key, sum(credits_delta) AS creditsSum, sum(requests_delta) AS requestsSum,
           min(entry_id) AS firstId, max(entry_id) AS lastId
         FROM usage_entries GROUP BY period_key, tenant_key),
       unexpected AS (
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
       FROM unexpected s
       LEFT JOIN periods p ON p.period_key = s.period_key
       LEFT JOIN tenants t ON t.tenant_key = s.tenant_key
       LEFT JOIN workspaces w ON w.workspace_key = p.workspace_key
       LIMIT ${FAULTS_PER_CHECK}`,
    )
    .safeIntegers()
    .all() as UnexpectedKey[];
  return rows.map((row) => {
    const key = `${row.period} of tenant ${JSON.stringify(row.tenantId)}`;
    const where = `in workspace ${JSON.stringify(row.workspaceId)}`;
    const message =
      row.sumsAgree === 1n
        ? `${key} ${where} has marks (withdrawn, first run, last run) that do not match its entries`
        : `${key} ${where} has ${row.credits} credits and ${row.requests} requests, but its entries sum to ${row.creditsSum} and ${row.requestsSum}`;
    return fault('invariant', message);
  });
}

/**
 * Checks the stored digest of the figures that the last run read for a period. It must match the period's state,
 * without withdrawn and absent tenants. If the digest is wrong, the next run may treat changed figures as unchanged.
 */
export function checkFigures(connection: LedgerDb): Fault[] {
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
      figures.add(Number(tenantKey), toExactNumber(credits), toExactNumber(requests));
    }
    if (figures.inOrder().digest().equals(digest)) continue;
    const message = `${period} of workspace ${JSON.stringify(workspaceId)}: its figures do not match those read by its last run`;
    faults.push(fault('periods', message));
    if (faults.length === FAULTS_PER_CHECK) break;
  }
  return faults;
}

/**
 * Converts a figure to a number if a double represents it exactly. The parser of the service's responses does the same.
 */
function toExactNumber(figure: bigint): number | bigint {
  return Number.isSafeInteger(Number(figure)) ? Number(figure) : figure;
}
