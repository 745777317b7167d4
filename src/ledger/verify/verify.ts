import Database from 'better-sqlite3';
import type { LedgerConnection } from '../file/open.ts';
import { type Check, FAULTS_A_CHECK, type Fault } from './fault.ts';
import { checkChain } from './verify-chain.ts';
import { checkAdjustments, checkCloses } from './verify-closes.ts';
import { checkControls } from './verify-controls.ts';
import { checkEntries } from './verify-entries.ts';
import { IntegrityThread, integrityFaults } from './verify-integrity.ts';
import { hasStrangeKey } from './verify-keys.ts';
import { checkPeriods } from './verify-periods.ts';
import { checkRuns, checkWalks } from './verify-runs.ts';
import { checkSchema } from './verify-schema.ts';
import { checkFigures, checkState } from './verify-state.ts';

/** Most checks read each page once. */
const CACHE_KIB = 4096;
/** The entries of a key lie on as many pages as runs wrote them: what is kept of those pages is not read again. */
const KEYS_CACHE_KIB = 49_152;

export interface VerifyReport {
  faults: Fault[];
  runs: number;
  entries: number;
  keys: number;
  /** Digest of the last published run or close: keep it elsewhere to notice a ledger that was replaced as a whole. */
  headDigest: string;
}

/**
 * Recomputes everything that must hold, in one read transaction: the file's integrity and references, the digest chain
 * over runs and closes, each entry's arithmetic, the sum of each key's deltas against its state, the accepted walks'
 * counts, the closed figures against the entries before the close, the adjustments against both, guarded rows against
 * their changes, and the views and triggers against the migrations; then whatever `more` looks at. The first fault is the one that says most exactly where.
 */
export function verifyLedger(connection: LedgerConnection, more: readonly Check[] = []): VerifyReport {
  const report = verifyContents(connection, more);
  return { ...report, faults: [...integrityFaults(connection), ...report.faults] };
}

/** The same for a ledger in a file, with the look at the file's integrity on a thread of its own at the same time. */
export async function verifyLedgerFile(
  connection: LedgerConnection,
  more: readonly Check[] = [],
): Promise<VerifyReport> {
  const integrity = new IntegrityThread(connection.name);
  try {
    // The thread reads the file as it is a moment later: whether it is intact does not depend on what was published since.
    const report = verifyContents(connection, more);
    return { ...report, faults: [...(await integrity.faults), ...report.faults] };
  } finally {
    await integrity.end();
  }
}

function verifyContents(connection: LedgerConnection, more: readonly Check[]): VerifyReport {
  const cacheSize = connection.pragma('cache_size', { simple: true });
  connection.pragma(`cache_size = -${CACHE_KIB}`);
  try {
    return connection.transaction(() => checkAll(connection, more))();
  } finally {
    connection.pragma(`cache_size = ${String(cacheSize)}`);
    connection.pragma('shrink_memory');
  }
}

function checkAll(connection: LedgerConnection, more: readonly Check[]): VerifyReport {
  const { faults: chainFaults, headDigest, strayed } = checkChain(connection);
  const suspicious = chainFaults.length > 0 || strayed || seemsStrange(connection);
  const faults = [
    ...chainFaults,
    ...(suspicious ? attempt('entries', () => checkEntries(connection)) : []),
    ...(suspicious ? attempt('invariant', () => checkState(connection)) : []),
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
  const count = (table: string) => Number(connection.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  return {
    faults,
    runs: count('runs WHERE applied_seq IS NOT NULL'),
    entries: count('usage_entries'),
    keys: count('tenant_usage'),
    headDigest,
  };
}

/** What cannot be looked at quickly is looked at exactly, and said there. */
function seemsStrange(connection: LedgerConnection): boolean {
  connection.pragma(`cache_size = -${KEYS_CACHE_KIB}`);
  try {
    return hasStrangeKey(connection);
  } catch (error) {
    if (!(error instanceof Database.SqliteError && error.code === 'SQLITE_ERROR')) throw error;
    return true;
  } finally {
    connection.pragma(`cache_size = -${CACHE_KIB}`);
    connection.pragma('shrink_memory');
  }
}

/** A figure so large that sums over it fail is a finding like any other: nobody but a forger can have put it there. */
function attempt(check: Fault['check'], run: () => Fault[]): Fault[] {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Database.SqliteError && error.code === 'SQLITE_ERROR')) throw error;
    return [{ check, runId: null, entryId: null, message: `it cannot be computed: ${error.message}` }];
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
