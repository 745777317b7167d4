import { summarizeError } from '../core/errors.ts';
import type { AbsentKey } from '../ledger/journal/runs/absences.ts';
import type { ClaimedRun } from '../ledger/journal/runs/claim-run.ts';
import { readPages } from '../usage-api/usage-listing.ts';
import { type SyncDeps, windowParameters } from './sync-deps.ts';
import { implausibleListingError, requirePlausible } from './walk.ts';

/** A run reads the histories of at most this many tenants; the remaining tenants wait for the next run. */
const MAX_HISTORIES = 200;
const HISTORY_PER_PAGE = 100;

interface HistoryFindings {
  /** Keys that are missing from the listing in two runs and also from the tenant's own history. */
  withdrawals: AbsentKey[];
  /**
   * Keys that are missing from the listing, but not withdrawn: the tenant's history still contains them, or it could
   * not be read. The next run examines other keys first.
   */
  unconfirmed: AbsentKey[];
}

/**
 * Reads the own histories of tenants with keys that are missing from the listing in two runs. The keys that have waited
 * longest come first. A key is withdrawn only if the tenant's history lacks it, too. If the history cannot be read,
 * none of the tenant's keys is withdrawn.
 */
export async function confirmWithdrawals(
  deps: SyncDeps,
  run: ClaimedRun,
  signal: AbortSignal,
): Promise<HistoryFindings> {
  const absent = await deps.writer.absentAgain({ runKey: run.runKey });
  const byTenant = new Map<string, AbsentKey[]>();
  for (const key of absent) byTenant.set(key.tenantId, [...(byTenant.get(key.tenantId) ?? []), key]);
  const asked: HistoryFindings = { withdrawals: [], unconfirmed: [] };
  for (const [tenantId, keys] of [...byTenant].slice(0, MAX_HISTORIES)) {
    try {
      const periods = await readHistory(deps, run, tenantId, signal);
      for (const key of keys) asked[periods.has(key.period) ? 'unconfirmed' : 'withdrawals'].push(key);
    } catch (error) {
      signal.throwIfAborted();
      asked.unconfirmed.push(...keys);
      const { code, message } = summarizeError(error);
      deps.logger.warn(
        { runId: run.runId, code, reason: message },
        'a history could not be read: none of its records is withdrawn',
      );
    }
  }
  return asked;
}

/** Returns the periods in a tenant's own history. The result is empty if the service no longer knows the tenant. */
async function readHistory(
  { source, pace, workspace }: SyncDeps,
  { window }: ClaimedRun,
  tenantId: string,
  signal: AbortSignal,
): Promise<Set<string>> {
  const limits = windowParameters(window);
  const getPage = async (page: number) => {
    await pace(signal);
    const query = { ...limits, page, perPage: HISTORY_PER_PAGE };
    return source.getTenantUsage(tenantId, query, { signal, beforeRetry: pace });
  };
  const periods = new Set<string>();
  let page = 0;
  try {
    for await (const { usage, total_pages: totalPages, total_records: totalRecords } of readPages(getPage)) {
      page += 1;
      const known = periods.size;
      for (const { period } of usage) periods.add(period);
      if (page === 1) requirePlausible({ records: usage.length, totalPages, totalRecords }, workspace);
      else if (periods.size === known) throw implausibleListingError(`page ${page} of a history has no new month`);
    }
  } catch (error) {
    // The tenant is unknown only if page 1 is missing. A missing later page means that the history has changed.
    if (page === 0 && summarizeError(error).code === 'not_found') return periods;
    throw error;
  }
  return periods;
}
