import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { siblingModule } from '../../../core/process/module-file.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { FAULTS_A_CHECK, type Fault, fault } from './fault.ts';
import { hasUnexpectedKey } from './verify-keys.ts';

/** The entries of a key lie on as many pages as runs wrote them: what is kept of those pages is not read again. */
const SCAN_CACHE_KIB = 49_152;

/** The two looks that read every page and depend on nothing else; they take half of the time. */
export interface Scan {
  integrity: Fault[];
  /** Some key's entries or state are not what they must be; `checkEntries` and `checkState` say which. */
  isUnexpected: boolean;
}

export function scanLedger(connection: LedgerDb): Scan {
  const rows = connection.pragma(`integrity_check(${FAULTS_A_CHECK})`) as { integrity_check: string }[];
  const integrity = rows
    .map(({ integrity_check: message }) => message)
    .filter((message) => message !== 'ok')
    .map((message) => fault('integrity', message));
  return { integrity, isUnexpected: looksUnexpected(connection) };
}

/** What cannot be looked at quickly is looked at exactly, and said there. */
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

/** The same on a thread of its own, see scan-thread.ts. */
export class ScanThread {
  readonly result: Promise<Scan>;
  readonly #worker: Worker;

  constructor(path: string) {
    this.#worker = new Worker(siblingModule(import.meta.url, 'scan-thread'), { workerData: path });
    const { promise, resolve, reject } = Promise.withResolvers<Scan>();
    this.result = promise;
    // Whoever fails before it asks for the result has another error to tell.
    promise.catch(() => undefined);
    this.#worker.once('message', resolve);
    this.#worker.once('error', reject);
    this.#worker.once('exit', (code) => reject(new Error(`the scan of the ledger ended with code ${code}`)));
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
