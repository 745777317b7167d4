import Database from 'better-sqlite3';
import { messageOf } from '../../../core/errors.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { countRows } from '../../store/file/schema-objects.ts';
import { type Check, FAULTS_A_CHECK, type Fault } from './fault.ts';
import { type ChainReport, checkChain } from './verify-chain.ts';
import { checkAdjustments, checkCloses } from './verify-closes.ts';
import { checkControls, checkSchema } from './verify-controls.ts';
import { checkEntries, checkFigures, checkState } from './verify-keys.ts';
import { checkPeriods, checkRuns, checkWalks } from './verify-runs.ts';
import { type Scan, ScanThread, scanLedger } from './verify-scan.ts';

/** Most checks read each page once. */
const CACHE_KIB = 4096;

export interface VerifyReport {
  faults: Fault[];
  runs: number;
  entries: number;
  keys: number;
  /** Digest of the last applied run or close: keep it elsewhere to notice a ledger that was replaced as a whole. */
  headDigest: string;
}

/**
 * Recomputes everything that must hold, in one read transaction: the file's integrity and references, the digest chain
 * over runs and closes, each entry's arithmetic, the sum of each key's deltas against its state, the accepted walks'
 * counts, the closed figures against the entries before the close, the adjustments against both, guarded rows against
 * their changes, and the views and triggers against the migrations; then whatever `more` looks at. The first fault is
 * the one that says most exactly where.
 */
export function verifyLedger(connection: LedgerConnection, more: readonly Check[] = []): VerifyReport {
  return connection.transaction(() => {
    const scan = scanLedger(connection);
    return withSmallCache(connection, () => toReport(connection, scan, checkContents(connection, more)));
  })();
}

/**
 * The same for a ledger in a file, of which a thread of its own scans the keys and the pages at the same time. It may see
 * the ledger a moment later, which must hold as well.
 */
export async function verifyLedgerFile(
  connection: LedgerConnection,
  more: readonly Check[] = [],
): Promise<VerifyReport> {
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

function checkContents(connection: LedgerConnection, more: readonly Check[]): Contents {
  const chain = checkChain(connection);
  const others = [
    ...attempt('runs', () => checkRuns(connection)),
    ...attempt('walks', () => checkWalks(connection)),
    ...attempt('periods', () => checkPeriods(connection)),
    ...attempt('periods', () => checkFigures(connection)),
    ...attempt('closes', () => checkCloses(connection)),
    ...attempt('adjustments', () => checkAdjustments(connection)),
    ...attempt('controls', () => checkControls(connection)),
    ...checkReferences(connection),
    ...attempt('schema', () => checkSchema(connection)),
    ...more.flatMap((check) => attempt('money', () => check(connection))),
  ];
  return { chain, others };
}

function toReport(connection: LedgerConnection, scan: Scan, { chain, others }: Contents): VerifyReport {
  const isSuspicious = chain.faults.length > 0 || chain.strayed || scan.isStrange;
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

function withSmallCache<T>(connection: LedgerConnection, use: () => T): T {
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
 * Figures so large that sums over them fail, and text that cannot be read as what it should be, are findings like any other:
 * nobody but a forger can have put them there. What SQLite says of the file itself is none of these.
 */
function attempt(check: Fault['check'], run: () => Fault[]): Fault[] {
  try {
    return run();
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code !== 'SQLITE_ERROR') throw error;
    const message = messageOf(error);
    return [{ check, runId: null, entryId: null, message: `it cannot be computed: ${message}` }];
  }
}

function checkReferences(connection: LedgerConnection): Fault[] {
  const rows = connection.pragma('foreign_key_check') as { table: string; rowid: number | null; parent: string }[];
  return rows.slice(0, FAULTS_A_CHECK).map(({ table, rowid, parent }) => ({
    check: 'references',
    runId: null,
    entryId: null,
    message: `${rowid === null ? 'a row' : `row ${rowid}`} of ${table} refers to a row of ${parent} that does not exist`,
  }));
}
