import type { LedgerConnection } from '../../store/file/open.ts';
import { ENTRY_KINDS, PERIODS_PER_WORKSPACE } from '../../store/schema/keys.ts';

const { opened, increased, decreased, withdrawn, restored } = ENTRY_KINDS;

/**
 * Whether the entries of any key, or its state, are not what `checkEntries` and `checkState` demand: these say which, and
 * take about twice as long. Here the entries of a key are compared as two lists, in one pass in the order of the keys: the
 * values before each entry (those after it less its deltas) must be a zero and then the values after the one before.
 * The sum of the deltas is then what the last entry says. That the runs of the entries are of the key's workspace is left
 * to the walk along the chain.
 */
export function hasStrangeKey(connection: LedgerConnection): boolean {
  const kindByValues = `CASE WHEN kind = ${withdrawn} AND credits_after = 0 AND requests_after = 0 THEN ${withdrawn}
    WHEN credits_delta > 0 OR (credits_delta = 0 AND requests_delta > 0) THEN ${increased} ELSE ${decreased} END`;
  const strange = connection
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
  return strange !== undefined;
}
