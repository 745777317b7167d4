import Database from 'better-sqlite3';
import { messageOf } from '../../../core/errors.ts';
import { isPeriod, periodBounds } from '../../../core/period.ts';
import { keptFromRun } from '../../journal/runs/prune-runs.ts';
import { rowDigest } from '../../store/file/row-digest.ts';
import { countRows, listSchemaObjects } from '../../store/file/schema-objects.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { bindToRow, type GuardedTable, guardedColumnsSql, guardedTables } from '../../store/schema/guards.ts';
import { PERIODS_PER_WORKSPACE } from '../../store/schema/keys.ts';
import { migrateInMemory } from '../../store/schema/migrate.ts';
import { type Check, FAULTS_PER_CHECK, type Fault, fault } from './fault.ts';
import { type ChainReport, checkChain } from './verify-chain.ts';
import { checkAdjustments, verifyCloses } from './verify-closes.ts';
import { checkEntries, checkFigures, checkState } from './verify-keys.ts';
import { type ScanResult, ScanThread, scanLedger } from './verify-scan.ts';

/** Size of the page cache of most checks. It is small because these checks read each page once. */
const CACHE_KIB = 4096;

export interface VerifyReport {
  faults: Fault[];
  runs: number;
  entries: number;
  keys: number;
  /**
   * Digest of the last link of the chain. If a copy of this digest is kept outside the ledger, it reveals that the
   * whole ledger was replaced.
   */
  headDigest: string;
}

/**
 * Checks the whole ledger in one read transaction: the file's integrity and references; the digest chain; the
 * arithmetic of each entry; the sum of each key's deltas against its state; the counts of the accepted walks; the
 * closed figures against the entries before the close; the adjustments against both; guarded rows against their
 * recorded changes; the views and triggers against the migrations. Then runs the checks in `more`. The most precise
 * fault comes first.
 */
export function verifyLedger(connection: LedgerDb, more: readonly Check[] = []): VerifyReport {
  return connection.transaction(() => {
    const scan = scanLedger(connection);
    return withSmallCache(connection, () => toReport(connection, scan, checkContents(connection, more)));
  })();
}

/** The report about a ledger file. `headDigest` is null for a file that is too damaged to be read to its end. */
export type FileReport = Omit<VerifyReport, 'headDigest'> & { headDigest: string | null };

/**
 * Verifies a ledger file, while another thread scans keys and pages. That thread may see a later state of the ledger,
 * which must be valid, too. A file that is too damaged to be read to its end is reported as a fault, not thrown.
 */
export async function verifyLedgerFile(connection: LedgerDb, more: readonly Check[] = []): Promise<FileReport> {
  try {
    return await verifyWhole(connection, more);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_CORRUPT'))) throw error;
    return { faults: [fault('integrity', error.message)], runs: 0, entries: 0, keys: 0, headDigest: null };
  }
}

async function verifyWhole(connection: LedgerDb, more: readonly Check[]): Promise<VerifyReport> {
  const thread = new ScanThread(connection.name);
  connection.exec('BEGIN');
  try {
    const contents = withSmallCache(connection, () => checkContents(connection, more));
    return toReport(connection, await thread.result, contents);
  } finally {
    connection.exec('COMMIT');
    await thread.end();
  }
}

interface Contents {
  chain: ChainReport;
  others: Fault[];
}

function checkContents(connection: LedgerDb, more: readonly Check[]): Contents {
  const chain = checkChain(connection);
  const others = [
    ...attempt('runs', () => checkRuns(connection)),
    ...attempt('walks', () => checkWalks(connection)),
    ...attempt('periods', () => checkPeriods(connection)),
    ...attempt('periods', () => checkFigures(connection)),
    ...attempt('closes', () => verifyCloses(connection)),
    ...attempt('adjustments', () => checkAdjustments(connection)),
    ...attempt('controls', () => checkGuardedRows(connection)),
    ...checkReferences(connection),
    ...attempt('schema', () => checkSchema(connection)),
    ...more.flatMap((check) => attempt('money', () => check(connection))),
  ];
  return { chain, others };
}

function toReport(connection: LedgerDb, scan: ScanResult, { chain, others }: Contents): VerifyReport {
  const isSuspicious = chain.faults.length > 0 || chain.strayed || scan.isUnexpected;
  return {
    faults: [
      ...scan.integrity,
      ...chain.faults,
      ...(isSuspicious ? attempt('entries', () => checkEntries(connection)) : []),
      ...(isSuspicious ? attempt('invariant', () => checkState(connection)) : []),
      ...others,
    ],
    runs: countRows(connection, 'runs WHERE applied_seq IS NOT NULL'),
    entries: countRows(connection, 'usage_entries'),
    keys: countRows(connection, 'tenant_usage'),
    headDigest: chain.headDigest,
  };
}

function withSmallCache<T>(connection: LedgerDb, use: () => T): T {
  const cacheSize = connection.pragma('cache_size', { simple: true });
  connection.pragma(`cache_size = -${CACHE_KIB}`);
  try {
    return use();
  } finally {
    connection.pragma(`cache_size = ${String(cacheSize)}`);
    connection.pragma('shrink_memory');
  }
}

/**
 * Runs a check. Sums that overflow and text that cannot be parsed are reported as faults, because only a forged ledger
 * contains such values. Errors about the file itself are thrown.
 */
function attempt(check: Fault['check'], run: () => Fault[]): Fault[] {
  try {
    return run();
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code !== 'SQLITE_ERROR') throw error;
    return [fault(check, `it cannot be computed: ${messageOf(error)}`)];
  }
}

function checkReferences(connection: LedgerDb): Fault[] {
  const rows = connection.pragma('foreign_key_check') as { table: string; rowid: number | null; parent: string }[];
  return rows.slice(0, FAULTS_PER_CHECK).map(({ table, rowid, parent }) => {
    const row = rowid === null ? 'a row' : `row ${rowid}`;
    return fault('references', `${row} of ${table} refers to a row of ${parent} that does not exist`);
  });
}

/**
 * Checks that a run is applied exactly when it is in the chain, that an applied run has no error, and that its start
 * matches the time in its id, which the digest covers.
 */
function checkRuns(connection: LedgerDb): Fault[] {
  const rows = connection
    .prepare(
      `SELECT run_id AS runId FROM runs
       WHERE (status = 'applied') <> (applied_seq IS NOT NULL)
         OR (applied_seq IS NOT NULL AND (error_code IS NOT NULL OR error_message IS NOT NULL
           OR (first_entry_id IS NULL) <> (entries = 0)
           OR substr(run_id, 1, length(run_id) - 8)
             <> 'run_' || replace(replace(replace(started_at, '-', ''), ':', ''), '.', '') || '_'))
       ORDER BY run_key LIMIT ${FAULTS_PER_CHECK}`,
    )
    .all() as { runId: string }[];
  const message = 'its status, error, first entry or start does not fit its position in the chain';
  return rows.map(({ runId }) => fault('runs', message, { runId }));
}

/**
 * Checks that the last walk of every applied run, and no other walk, is accepted and has the run's counts. Old runs
 * without entries may have no walks, because retention deletes them.
 */
function checkWalks(connection: LedgerDb): Fault[] {
  const rows = connection
    .prepare(
      `SELECT r.run_id AS runId FROM runs r LEFT JOIN walks w USING (run_key)
       WHERE w.run_key IS NOT NULL OR r.entries <> 0 OR r.run_key NOT BETWEEN 1 AND ? - 1
       GROUP BY r.run_key
       HAVING count(w.walk_number) FILTER (WHERE w.verdict = 'accepted') <> (r.applied_seq IS NOT NULL)
         OR (r.applied_seq IS NOT NULL AND (
           count(w.walk_number) FILTER (WHERE w.verdict = 'accepted' AND w.records = r.records AND w.pages = r.pages
             AND w.distinct_keys = w.total_records AND w.records = w.total_records
             AND (w.pages = w.total_pages OR (w.pages = 1 AND w.total_pages = 0 AND w.records = 0))) <> 1
           OR max(w.walk_number) <> max(w.walk_number) FILTER (WHERE w.verdict = 'accepted')
           OR min(w.walk_number) <> 1 OR max(w.walk_number) <> count(w.walk_number)))
       ORDER BY r.run_key LIMIT ${FAULTS_PER_CHECK}`,
    )
    .all(keptFromRun(connection)) as { runId: string }[];
  const message = 'its certificate is missing, or its counts do not match the run';
  return rows.map(({ runId }) => fault('walks', message, { runId }));
}

/**
 * Checks that the key of each period matches its workspace and month; that each period has entries, adjustments,
 * corrections, manual lines, or a close or reopen; that the run recorded as the last to have read the period is the
 * newest run in the chain whose window contains it; and that the bounds of each period are those of its month.
 */
function checkPeriods(connection: LedgerDb): Fault[] {
  const rows = connection
    .prepare(
      `WITH windows AS (
         SELECT workspace_key, coalesce(from_period, '') AS first, coalesce(to_period, '') AS last,
           max(applied_seq) AS seq
         FROM runs WHERE applied_seq IS NOT NULL GROUP BY 1, 2, 3),
       latest AS (
         SELECT p.period_key, max(n.seq) AS seq
         FROM periods p JOIN windows n ON n.workspace_key = p.workspace_key AND p.period BETWEEN n.first AND n.last
         GROUP BY p.period_key),
       judged AS (
         SELECT p.period_key, p.workspace_key, p.period,
           p.period_key IS NOT p.workspace_key * ${PERIODS_PER_WORKSPACE}
             + CAST(substr(p.period, 1, 4) AS INTEGER) * 12 + CAST(substr(p.period, 6, 2) AS INTEGER) - 1 AS misnamed,
           EXISTS (SELECT 1 FROM usage_entries e WHERE e.period_key = p.period_key) AS used,
           EXISTS (SELECT 1 FROM adjustments a WHERE a.booked_period_key = p.period_key)
             OR EXISTS (SELECT 1 FROM charge_corrections x WHERE x.booked_period_key = p.period_key)
             OR EXISTS (SELECT 1 FROM manual_lines m WHERE m.period_key = p.period_key) AS booked,
           EXISTS (SELECT 1 FROM period_events c WHERE c.period_key = p.period_key) AS closed,
           p.covered_run_key, r.run_key AS latest_run_key
         FROM periods p LEFT JOIN latest l USING (period_key) LEFT JOIN runs r ON r.applied_seq = l.seq)
       SELECT j.period, coalesce(w.workspace_id, '') AS workspaceId,
         CASE WHEN j.misnamed THEN 'its key is that of another period'
           WHEN NOT (j.used OR j.booked OR j.closed) THEN 'nothing was ever recorded or booked in it'
           ELSE 'its last covering run is wrong' END AS message
       FROM judged j LEFT JOIN workspaces w USING (workspace_key)
       -- A period that was made for a booking has been covered by no run at first.
       WHERE j.misnamed OR NOT (j.used OR j.booked OR j.closed)
         OR (j.covered_run_key IS NOT j.latest_run_key AND (j.used OR j.covered_run_key IS NOT NULL))
       ORDER BY j.period_key LIMIT ${FAULTS_PER_CHECK}`,
    )
    .all() as UnexpectedPeriod[];
  const faults = [...rows, ...unexpectedBounds(connection)].map(({ period, workspaceId, message }) =>
    fault('periods', `${period} of workspace ${JSON.stringify(workspaceId)}: ${message}`),
  );
  return faults.slice(0, FAULTS_PER_CHECK);
}

interface UnexpectedPeriod {
  period: string;
  workspaceId: string;
  message: string;
}

function unexpectedBounds(connection: LedgerDb): UnexpectedPeriod[] {
  const rows = connection
    .prepare(
      `SELECT p.period, p.period_start AS start, p.period_end AS end, coalesce(w.workspace_id, '') AS workspaceId
       FROM periods p LEFT JOIN workspaces w USING (workspace_key) ORDER BY p.period_key`,
    )
    .iterate() as IterableIterator<{ period: string; start: string; end: string; workspaceId: string }>;
  const unexpected: UnexpectedPeriod[] = [];
  for (const { period, start, end, workspaceId } of rows) {
    if (!isPeriod(period)) continue;
    const bounds = periodBounds(period);
    if (start === bounds.start && end === bounds.end) continue;
    unexpected.push({ period, workspaceId, message: `its bounds are ${start} and ${end}` });
  }
  return unexpected;
}

/**
 * Checks that each guarded row matches its last row change, so that no row was changed, added or deleted without the
 * triggers; that row changes have no gap; and that alerts match their transitions. `checkChain` verifies that the
 * digests of runs cover the row changes.
 */
export function checkGuardedRows(connection: LedgerDb): Fault[] {
  const messages = guardedTables().flatMap((guarded) => [...unexpectedRows(connection, guarded)]);
  messages.push(...unexpectedAlerts(connection));
  const missing = connection
    .prepare(
      `SELECT c.change_seq - 1 FROM row_changes c
       WHERE NOT EXISTS (SELECT 1 FROM row_changes b WHERE b.change_seq = c.change_seq - 1) AND c.change_seq <> 1
       ORDER BY c.change_seq LIMIT 1`,
    )
    .pluck()
    .get() as number | undefined;
  if (missing !== undefined) messages.push(`row change ${missing} is missing`);
  return messages.slice(0, FAULTS_PER_CHECK).map((message) => fault('controls', message));
}

/**
 * Lists the alerts whose state differs from the state after their last transition, or whose revision is not the number
 * of their transitions.
 */
function unexpectedAlerts(connection: LedgerDb): string[] {
  return connection
    .prepare(
      `SELECT 'alert ' || a.alert_id || ' is ' || a.state || ', but its last transition is to '
         || coalesce((SELECT t.state FROM alert_transitions t WHERE t.alert_key = a.alert_key ORDER BY t.revision DESC LIMIT 1), 'nothing')
       FROM alerts a
       WHERE a.revision <> (SELECT count(*) FROM alert_transitions t WHERE t.alert_key = a.alert_key)
         OR a.state IS NOT (SELECT t.state FROM alert_transitions t WHERE t.alert_key = a.alert_key AND t.revision = a.revision)
       LIMIT ${FAULTS_PER_CHECK}`,
    )
    .pluck()
    .all() as string[];
}

function* unexpectedRows(connection: LedgerDb, guarded: GuardedTable): Generator<string, void> {
  const { table, key, label } = guarded;
  const rowKey = bindToRow(key, table);
  const lastChange = `SELECT %, max(change_seq) FROM row_changes WHERE table_name = '${table}' GROUP BY row_key`;
  const rows = connection
    .prepare(
      `SELECT ${bindToRow(label, table)}, ${guardedColumnsSql(guarded, table)}, c.row_digest
       FROM ${table} LEFT JOIN (${lastChange.replace('%', 'row_key, row_digest')}) c
         ON c.row_key = CAST(${rowKey} AS TEXT)`,
    )
    .raw()
    .iterate() as IterableIterator<[label: string, text: string, digest: Buffer | null]>;
  let found = 0;
  for (const [row, text, digest] of rows) {
    if (digest !== null && rowDigest(text).equals(digest)) continue;
    yield digest === null ? `${row} was added by another program` : `${row} was changed by another program`;
    found += 1;
    if (found === FAULTS_PER_CHECK) return;
  }
  const gone = connection
    .prepare(
      `SELECT row_key FROM (${lastChange.replace('%', 'row_key, row_digest')})
       WHERE row_digest IS NOT NULL AND row_key NOT IN (SELECT CAST(${rowKey} AS TEXT) FROM ${table})
       LIMIT ${FAULTS_PER_CHECK}`,
    )
    .pluck()
    .all() as string[];
  for (const row of gone) yield `row ${row} of ${table} was deleted by another program`;
}

/**
 * The SQL that creates each object in the schema of this version, by type and name. It is computed on first use,
 * because that takes as long as all other checks of a small ledger.
 */
let expected: ReadonlyMap<string, string | null> | null = null;

/**
 * Checks that tables, views and triggers are exactly those of the migrations: a changed `finance_*` view would show
 * wrong figures of a valid ledger, and a ledger without its triggers is not append-only. Ignores added indexes, which
 * are harmless.
 */
function checkSchema(connection: LedgerDb): Fault[] {
  const found = readSchema(connection);
  expected ??= expectedSchema();
  const faults: Fault[] = [];
  const add = (message: string): void => void faults.push(fault('schema', message));
  for (const [name, sql] of expected) {
    if (!found.has(name)) add(`the ${name} is missing`);
    else if (found.get(name) !== sql) add(`the ${name} is not the one of this version`);
  }
  for (const name of found.keys()) {
    if (name.startsWith('trigger') && !expected.has(name)) add(`the ${name} does not belong to this program`);
  }
  return faults.slice(0, FAULTS_PER_CHECK);
}

function expectedSchema(): Map<string, string | null> {
  const connection = new Database(':memory:');
  try {
    migrateInMemory(connection);
    return readSchema(connection);
  } finally {
    connection.close();
  }
}

function readSchema(connection: LedgerDb): Map<string, string | null> {
  const objects = listSchemaObjects(connection).filter(({ type }) => type !== 'index');
  return new Map(objects.map(({ type, name, sql }) => [`${type} ${name}`, sql]));
}
