import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { fault } from './fault.ts';
import { type ScanResult, scanLedger } from './verify-scan.ts';

/**
 * Scans the ledger file at `path` and posts the result to the parent thread. Runs when a worker thread starts with this
 * module, which is never imported.
 */
function scanInThread(path: string): void {
  const connection = new Database(path, { readonly: true });
  connection.pragma('cache_size = -2000');
  try {
    parentPort?.postMessage(connection.transaction(() => scanLedger(connection))());
  } catch (error) {
    if (!(error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CORRUPT'))) throw error;
    const found: ScanResult = { integrity: [fault('integrity', error.message)], isUnexpected: true };
    parentPort?.postMessage(found);
  } finally {
    connection.close();
  }
}

scanInThread(workerData as string);
