import type { LedgerConnection } from '../file/open.ts';
import { ENTRY_KINDS, PERIODS_PER_WORKSPACE } from '../schema/keys.ts';
import { FAULTS_A_CHECK, type Fault } from './fault.ts';

const { opened, increased, decreased, withdrawn, restored } = ENTRY_KINDS;

interface StrangeEntry {
  entryId: number;
  runId: string | null;
  strayed: number;
  valuesAgree: number;
}

/**
 * Each entry by itself and beside the one before it on the same key: its values after it are those before it plus its
 * deltas, its kind is what those say, and its period and tenant belong to the workspace of its run. The digests say
 * periods and tenants by name, and two workspaces may have the same names.
 */
export function checkEntries(connection: LedgerConnection): Fault[] {
  return hasStrangeEntry(connection) ? nameStrangeEntries(connection) : [];
}

/**
 * Whether any entry is not as it must be. It asks for the entry before each by its key: a tenth of what the window
 * functions cost that say which entries those are.
 */
function hasStrangeEntry(connection: LedgerConnection): boolean {
  const strange = connection
    .prepare(
      `SELECT 1 FROM usage_entries e INDEXED BY usage_entries_by_key
       LEFT JOIN usage_entries b ON b.entry_id = (
         SELECT max(entry_id) FROM usage_entries
         WHERE period_key = e.period_key AND tenant_key = e.tenant_key AND entry_id < e.entry_id)
       LEFT JOIN runs r ON r.run_key = e.run_key
       LEFT JOIN tenants t ON t.tenant_key = e.tenant_key
       WHERE e.credits_after <> coalesce(b.credits_after, 0) + e.credits_delta
         OR e.requests_after <> coalesce(b.requests_after, 0) + e.requests_delta
         OR e.period_key / ${PERIODS_PER_WORKSPACE} IS NOT r.workspace_key OR t.workspace_key IS NOT r.workspace_key
         OR e.kind <> ${kindOf('b.kind', 'e.')}
       LIMIT 1`,
    )
    .get();
  return strange !== undefined;
}

/** What the kind of an entry must be, in SQL. */
function kindOf(kindBefore: string, entry: '' | 'e.'): string {
  return `CASE
    WHEN ${kindBefore} IS NULL THEN ${opened}
    WHEN ${kindBefore} = ${withdrawn} THEN ${restored}
    WHEN ${entry}kind = ${withdrawn} AND ${entry}credits_after = 0 AND ${entry}requests_after = 0 THEN ${withdrawn}
    WHEN ${entry}credits_delta > 0 OR (${entry}credits_delta = 0 AND ${entry}requests_delta > 0) THEN ${increased}
    ELSE ${decreased} END`;
}

function nameStrangeEntries(connection: LedgerConnection): Fault[] {
  const rows = connection
    .prepare(
      `SELECT entryId, runId, strayed, credits_after = coalesce(credits_before, 0) + credits_delta
         AND requests_after = coalesce(requests_before, 0) + requests_delta AS valuesAgree
       FROM (
         SELECT e.entry_id AS entryId, r.run_id AS runId, e.kind, e.credits_after, e.requests_after, e.credits_delta,
           e.requests_delta, lag(e.credits_after) OVER key AS credits_before,
           lag(e.requests_after) OVER key AS requests_before, lag(e.kind) OVER key AS kind_before,
           e.period_key / ${PERIODS_PER_WORKSPACE} IS NOT r.workspace_key OR t.workspace_key IS NOT r.workspace_key AS strayed
         FROM usage_entries e INDEXED BY usage_entries_by_key LEFT JOIN runs r USING (run_key)
           LEFT JOIN tenants t USING (tenant_key)
         WINDOW key AS (PARTITION BY e.period_key, e.tenant_key ORDER BY e.entry_id))
       WHERE strayed OR NOT valuesAgree OR kind <> ${kindOf('kind_before', '')}
       ORDER BY entryId LIMIT ${FAULTS_A_CHECK}`,
    )
    .all() as StrangeEntry[];
  return rows.map(({ entryId, runId, strayed, valuesAgree }) => ({
    check: 'entries',
    runId,
    entryId,
    message:
      valuesAgree === 0
        ? `the values after entry ${entryId} are not those before it plus its deltas`
        : strayed === 1
          ? `entry ${entryId} is of a period or tenant that is not of its run's workspace`
          : `the kind of entry ${entryId} is not what its values say`,
  }));
}
