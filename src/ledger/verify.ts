import type Database from 'better-sqlite3';
import { digestOfRun, GENESIS_DIGEST } from './digest.ts';

type Connection = Database.Database;

/** One thing that is not as it must be: which check, where, and what was found. */
export interface Fault {
  check: 'integrity' | 'references' | 'chain' | 'invariant' | 'entries' | 'walks';
  /** The run, when the fault can be pinned to one. */
  runId: string | null;
  /** The entry, when the fault can be pinned to one. */
  entryId: number | null;
  message: string;
}

export interface VerifyReport {
  faults: Fault[];
  runs: number;
  entries: number;
  keys: number;
  /** Digest of the last published run: keep it elsewhere to notice a ledger that was replaced as a whole. */
  headDigest: string;
}

/** Faults listed of one check; the first is what matters. */
const FAULTS_A_CHECK = 10;

/**
 * Recomputes everything that must hold, in one read transaction: the file's integrity and references, the digest chain,
 * each entry's arithmetic, the sum of each key's deltas against its state, and the accepted walks' counts.
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

interface ChainRow {
  appliedSeq: number;
  runKey: number;
  runId: string;
  workspaceId: string;
  finishedAt: string;
  firstEntryId: number | null;
  entries: number;
  previousDigest: string;
  digest: string;
}

/** Walks the chain in order; the first run whose digest does not follow is named, and the rest is compared with it. */
function checkChain(connection: Connection): { faults: Fault[]; headDigest: string } {
  const rows = connection
    .prepare(
      `SELECT r.applied_seq AS appliedSeq, r.run_key AS runKey, r.run_id AS runId, w.workspace_id AS workspaceId,
         r.finished_at AS finishedAt, r.first_entry_id AS firstEntryId, r.entries, r.previous_digest AS previousDigest,
         r.digest
       FROM runs r JOIN workspaces w USING (workspace_key)
       WHERE r.applied_seq IS NOT NULL ORDER BY r.applied_seq`,
    )
    .all() as ChainRow[];
  const faults: Fault[] = [];
  let previous = GENESIS_DIGEST;
  let expectedSeq = 1;
  let nextEntryId = 1;
  const add = (row: ChainRow, message: string) => {
    if (faults.length < FAULTS_A_CHECK) faults.push({ check: 'chain', runId: row.runId, entryId: null, message });
  };
  for (const row of rows) {
    if (row.appliedSeq !== expectedSeq) add(row, `run ${expectedSeq} of the chain is missing`);
    if (row.previousDigest !== previous) add(row, 'does not continue the digest of the run before it');
    if (row.firstEntryId !== null) {
      if (row.firstEntryId !== nextEntryId) add(row, `its entries begin at ${row.firstEntryId}, not ${nextEntryId}`);
      nextEntryId = row.firstEntryId + row.entries;
    }
    if (digestOfRun(connection, row) !== row.digest) add(row, 'its digest does not match its entries');
    const strays = connection
      .prepare('SELECT count(*) FROM usage_entries WHERE entry_id >= ? AND entry_id < ? AND run_key <> ?')
      .pluck()
      .get(row.firstEntryId ?? 0, row.firstEntryId === null ? 0 : nextEntryId, row.runKey);
    if (strays !== 0) add(row, `${String(strays)} of its entries name another run`);
    previous = row.digest;
    expectedSeq = row.appliedSeq + 1;
  }
  const beyond = connection.prepare('SELECT min(entry_id) FROM usage_entries WHERE entry_id >= ?').pluck();
  const orphan = beyond.get(nextEntryId) as number | null;
  if (orphan !== null) {
    faults.push({
      check: 'chain',
      runId: null,
      entryId: orphan,
      message: `entry ${orphan} belongs to no published run`,
    });
  }
  return { faults, headDigest: previous };
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
}

/** The sum of a key's deltas equals its current state, and neither exists without the other. */
function checkInvariant(connection: Connection): Fault[] {
  const rows = connection
    .prepare(
      `WITH sums AS (
         SELECT period_key, tenant_key, sum(credits_delta) AS creditsSum, sum(requests_delta) AS requestsSum
         FROM usage_entries GROUP BY period_key, tenant_key)
       SELECT p.period, t.tenant_id AS tenantId, u.credits_used AS credits, u.request_count AS requests, creditsSum,
         requestsSum
       FROM tenant_usage u FULL JOIN sums s USING (period_key, tenant_key)
       LEFT JOIN periods p USING (period_key) LEFT JOIN tenants t USING (tenant_key)
       WHERE u.credits_used IS NOT creditsSum OR u.request_count IS NOT requestsSum
       LIMIT ${FAULTS_A_CHECK}`,
    )
    .safeIntegers()
    .all() as InvariantRow[];
  return rows.map(({ period, tenantId, credits, requests, creditsSum, requestsSum }) => ({
    check: 'invariant',
    runId: null,
    entryId: null,
    message:
      `${period} of tenant ${JSON.stringify(tenantId)} stands at ${credits} credits and ${requests} requests, ` +
      `its entries sum to ${creditsSum} and ${requestsSum}`,
  }));
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
