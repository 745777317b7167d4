import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { siblingModule } from '../../../core/process/module-file.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { FAULTS_PER_CHECK, type Fault, fault } from './fault.ts';
import { hasUnexpectedKey } from './verify-keys.ts';

/** The entries of a key are spread over one page per run that wrote them; a cache avoids reading those pages again. */
const SCAN_CACHE_KIB = 49_152;

/** The two checks that read every page and depend on nothing else; they take half of the time. */
export interface Scan {
  integrity: Fault[];
  /** The entries or state of some key are wrong; `checkEntries` and `checkState` find out which. */
  isUnexpected: boolean;
}

export function scanLedger(connection: LedgerDb): Scan {
  const rows = connection.pragma(`integrity_check(${FAULTS_PER_CHECK})`) as { integrity_check: string }[];
  const integrity = rows
    .map(({ integrity_check: message }) => message)
    .filter((message) => message !== 'ok')
    .map((message) => fault('integrity', message));
  return { integrity, isUnexpected: looksUnexpected(connection) };
}

/** Falls back to the exact checks when the quick one fails: they report the error. */
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

/** Runs `scanLedger` on its own thread, see scan-thread.ts. */
export class ScanThread {
  readonly result: Promise<Scan>;
  readonly #worker: Worker;

  constructor(path: string) {
    this.#worker = new Worker(siblingModule(import.meta.url, 'scan-thread'), { workerData: path });
    const { promise, resolve, reject } = Promise.withResolvers<Scan>();
    this.result = promise;
    // A caller that fails before it asks for the result reports its own error instead.
    promise.catch(() => undefined);
    this.#worker.once('message', resolve);
    this.#worker.once('error', reject);
    this.#worker.once('exit', (code) => reject(new Error(`the scan of the ledger ended with code ${code}`)));
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
