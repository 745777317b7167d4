import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { siblingModule } from '../../../core/process/module-file.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { FAULTS_PER_CHECK, type Fault, fault } from './fault.ts';
import { hasUnexpectedKey } from './verify-keys.ts';

/**
 * Size of the scan's page cache. The entries of a key are spread over many pages, one per run. With a larger cache,
 * these pages need not be read again.
 */
const SCAN_CACHE_KIB = 49_152;

/**
 * The results of the two checks that read every page. They take half of the time and do not depend on other results, so
 * they can run in another thread.
 */
export interface ScanResult {
  integrity: Fault[];
  /**
   * True when the entries or the state of some key are wrong. `checkEntries` and `checkState` then find out which key
   * it is.
   */
  isUnexpected: boolean;
}

export function scanLedger(connection: LedgerDb): ScanResult {
  const rows = connection.pragma(`integrity_check(${FAULTS_PER_CHECK})`) as { integrity_check: string }[];
  const integrity = rows
    .map(({ integrity_check: message }) => message)
    .filter((message) => message !== 'ok')
    .map((message) => fault('integrity', message));
  return { integrity, isUnexpected: looksUnexpected(connection) };
}

/**
 * Runs the quick check of all keys. Also returns true if the check itself fails with an error: the exact checks then
 * run and report the error.
 */
function looksUnexpected(connection: LedgerDb): boolean {
  const cacheSize = connection.pragma('cache_size', { simple: true });
  connection.pragma(`cache_size = -${SCAN_CACHE_KIB}`);
  try {
    return hasUnexpectedKey(connection);
  } catch (error) {
    if (!(error instanceof Database.SqliteError && error.code === 'SQLITE_ERROR')) throw error;
    return true;
  } finally {
    connection.pragma(`cache_size = ${String(cacheSize)}`);
    connection.pragma('shrink_memory');
  }
}

/** Runs `scanLedger` in a thread of its own, see scan-thread.ts. */
export class ScanThread {
  readonly result: Promise<ScanResult>;
  readonly #worker: Worker;

  constructor(path: string) {
    this.#worker = new Worker(siblingModule(import.meta.url, 'scan-thread'), { workerData: path });
    const { promise, resolve, reject } = Promise.withResolvers<ScanResult>();
    this.result = promise;
    // Avoids an unhandled rejection when the caller fails before it awaits the result.
    promise.catch(() => undefined);
    this.#worker.once('message', resolve);
    this.#worker.once('error', reject);
    this.#worker.once('exit', (code) => reject(new Error(`the scan of the ledger ended with code ${code}`)));
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
