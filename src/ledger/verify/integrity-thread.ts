import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import type { Fault } from './fault.ts';
import { integrityFaults } from './verify-integrity.ts';

/** Looks at the file whose path it was given, and posts the faults. This file is started, never imported. */
function main(path: string): void {
  const connection = new Database(path, { readonly: true });
  connection.pragma('cache_size = -2000');
  try {
    parentPort?.postMessage(integrityFaults(connection));
  } catch (error) {
    if (!(error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CORRUPT'))) throw error;
    const fault: Fault = { check: 'integrity', runId: null, entryId: null, message: error.message };
    parentPort?.postMessage([fault]);
  } finally {
    connection.close();
  }
}

main(workerData as string);
