import { NO_FIGURE } from '../../journal/runs/sum-limits.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { ENTRY_KINDS, PERIODS_PER_WORKSPACE } from '../../store/schema/keys.ts';
import { FAULTS_A_CHECK, type Fault } from './fault.ts';

const { opened, increased, decreased, withdrawn, restored } = ENTRY_KINDS;

/** SQL that is true of an entry `e` whose numbers are figures of the ledger. */
export const IS_FIGURES = `${NO_FIGURE} NOT IN (e.credits_delta, e.requests_delta, e.credits_after, e.requests_after)`;

interface StrangeEntry {
  entryId: number;
  runId: string | null;
  strayed: number;
  valuesAgree: number;
  isFigure: number;
}

/**
 * Each entry by itself and beside the one before it on the same key: its values after it are those before it plus its
 * deltas, its kind is what those say, and its period and tenant belong to the workspace of its run. The digests say
 * periods and tenants by name, and two workspaces may have the same names.
 */
export function checkEntries(connection: LedgerConnection): Fault[] {
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
       ORDER BY entryId LIMIT ${FAULTS_A_CHECK}`,
    )
    .all() as StrangeEntry[];
  return rows.map(({ entryId, runId, strayed, valuesAgree, isFigure }) => ({
    check: 'entries',
    runId,
    entryId,
    message:
      valuesAgree === 0
        ? `the values after entry ${entryId} are not those before it plus its deltas`
        : isFigure === 0
          ? `entry ${entryId} has a figure of -2^63, which is none`
          : strayed === 1
            ? `entry ${entryId} is of a period or tenant that is not of its run's workspace`
            : `the kind of entry ${entryId} is not what its values say`,
  }));
}
