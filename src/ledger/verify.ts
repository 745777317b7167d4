import type Database from 'better-sqlite3';
import { FAULTS_A_CHECK, type Fault } from './fault.ts';
import { ENTRY_KINDS } from './keys.ts';
import { checkChain } from './verify-chain.ts';
import { checkAdjustments, checkCloses } from './verify-closes.ts';

type Connection = Database.Database;

export interface VerifyReport {
  faults: Fault[];
  runs: number;
  entries: number;
  keys: number;
  /** Digest of the last published run: keep it elsewhere to notice a ledger that was replaced as a whole. */
  headDigest: string;
}

/**
 * Recomputes everything that must hold, in one read transaction: the file's integrity and references, the digest chain
 * over runs and closes, each entry's arithmetic, the sum of each key's deltas against its state, the accepted walks'
 * counts, the closed figures against the entries before the close, and the adjustments against both.
 */
export function verifyLedger(connection: Connection): VerifyReport {
  return connection.transaction(() => {
    const { faults: chainFaults, headDigest } = checkChain(connection);
    const faults = [
      ...checkIntegrity(connection),
      ...chainFaults,
      ...checkArithmetic(connection),
      ...checkInvariant(connection),
      ...checkWalks(connection),
      ...checkCloses(connection),
      ...checkAdjustments(connection),
    ];
    const count = (table: string) => Number(connection.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
    return {
      faults,
      runs: count('runs WHERE applied_seq IS NOT NULL'),
      entries: count('usage_entries'),
      keys: count('tenant_usage'),
      headDigest,
    };
  })();
}

function checkIntegrity(connection: Connection): Fault[] {
  const faults: Fault[] = [];
  const integrity = connection.pragma(`integrity_check(${FAULTS_A_CHECK})`) as { integrity_check: string }[];
  for (const { integrity_check: message } of integrity) {
    if (message !== 'ok') faults.push({ check: 'integrity', runId: null, entryId: null, message });
  }
  const references = connection.pragma('foreign_key_check') as { table: string; rowid: number; parent: string }[];
  for (const { table, rowid, parent } of references.slice(0, FAULTS_A_CHECK)) {
    const message = `row ${rowid} of ${table} refers to a row of ${parent} that does not exist`;
    faults.push({ check: 'references', runId: null, entryId: null, message });
  }
  return faults;
}

/** Each entry's values after it are those after the entry before it on the same key, plus its deltas. */
function checkArithmetic(connection: Connection): Fault[] {
  const rows = connection
    .prepare(
      `SELECT entryId, runId FROM (
         SELECT e.entry_id AS entryId, r.run_id AS runId, e.credits_after, e.requests_after, e.credits_delta,
           e.requests_delta,
           lag(e.credits_after, 1, 0) OVER key AS credits_before, lag(e.requests_after, 1, 0) OVER key AS requests_before
         FROM usage_entries e INDEXED BY usage_entries_by_key LEFT JOIN runs r USING (run_key)
         WINDOW key AS (PARTITION BY e.period_key, e.tenant_key ORDER BY e.entry_id))
       WHERE credits_after <> credits_before + credits_delta OR requests_after <> requests_before + requests_delta
       ORDER BY entryId LIMIT ${FAULTS_A_CHECK}`,
    )
    .all() as { entryId: number; runId: string | null }[];
  return rows.map(({ entryId, runId }) => ({
    check: 'entries',
    runId,
    entryId,
    message: `the values after entry ${entryId} are not those before it plus its deltas`,
  }));
}

interface InvariantRow {
  period: string;
  tenantId: string;
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
function checkInvariant(connection: Connection): Fault[] {
  const rows = connection
    .prepare(
      `WITH sums AS (
         SELECT period_key, tenant_key, sum(credits_delta) AS creditsSum, sum(requests_delta) AS requestsSum,
           min(entry_id) AS firstId, max(entry_id) AS lastId
         FROM usage_entries GROUP BY period_key, tenant_key)
       SELECT p.period, t.tenant_id AS tenantId, u.credits_used AS credits, u.request_count AS requests, creditsSum,
         requestsSum, u.credits_used IS creditsSum AND u.request_count IS requestsSum AS sumsAgree
       FROM tenant_usage u FULL JOIN sums s USING (period_key, tenant_key)
       LEFT JOIN periods p USING (period_key) LEFT JOIN tenants t USING (tenant_key)
       LEFT JOIN usage_entries f ON f.entry_id = s.firstId LEFT JOIN usage_entries l ON l.entry_id = s.lastId
       WHERE u.credits_used IS NOT creditsSum OR u.request_count IS NOT requestsSum
         OR u.withdrawn IS NOT (l.kind = ${ENTRY_KINDS.withdrawn})
         OR u.first_run_key IS NOT f.run_key OR u.changed_run_key IS NOT l.run_key
       LIMIT ${FAULTS_A_CHECK}`,
    )
    .safeIntegers()
    .all() as InvariantRow[];
  return rows.map(({ period, tenantId, credits, requests, creditsSum, requestsSum, sumsAgree }) => {
    const key = `${period} of tenant ${JSON.stringify(tenantId)}`;
    const message =
      sumsAgree === 1n
        ? `${key} has marks (withdrawn, first run, last run) that are not those of its entries`
        : `${key} stands at ${credits} credits and ${requests} requests, its entries sum to ${creditsSum} and ${requestsSum}`;
    return { check: 'invariant', runId: null, entryId: null, message };
  });
}

/** Every published run has exactly one accepted walk, whose counts are the run's. */
function checkWalks(connection: Connection): Fault[] {
  const rows = connection
    .prepare(
      `SELECT r.run_id AS runId FROM runs r
       WHERE r.applied_seq IS NOT NULL AND 1 <> (
         SELECT count(*) FROM walks w
         WHERE w.run_key = r.run_key AND w.verdict = 'accepted' AND w.records = r.records AND w.pages = r.pages
           AND w.distinct_keys = w.total_records AND w.records = w.total_records AND w.pages = max(w.total_pages, 1))
       ORDER BY r.applied_seq LIMIT ${FAULTS_A_CHECK}`,
    )
    .all() as { runId: string }[];
  return rows.map(({ runId }) => ({
    check: 'walks',
    runId,
    entryId: null,
    message: 'its certificate is missing, or its counts are not those of the run',
  }));
}
