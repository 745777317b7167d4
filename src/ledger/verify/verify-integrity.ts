import { Worker } from 'node:worker_threads';
import type { LedgerConnection } from '../file/open.ts';
import { FAULTS_A_CHECK, type Fault } from './fault.ts';

/** What SQLite finds wrong with the pages, indexes and constraints of the file. */
export function integrityFaults(connection: LedgerConnection): Fault[] {
  const rows = connection.pragma(`integrity_check(${FAULTS_A_CHECK})`) as { integrity_check: string }[];
  return rows
    .map(({ integrity_check: message }) => message)
    .filter((message) => message !== 'ok')
    .map((message) => ({ check: 'integrity', runId: null, entryId: null, message }));
}

/** The same on a thread of its own, see integrity-thread.ts. */
export class IntegrityThread {
  /** Rejects when the thread fails. */
  readonly faults: Promise<Fault[]>;
  readonly #worker: Worker;

  constructor(path: string) {
    this.#worker = new Worker(new URL('./integrity-thread.js', import.meta.url), { workerData: path });
    const { promise, resolve, reject } = Promise.withResolvers<Fault[]>();
    this.faults = promise;
    // Whoever fails before it asks for the faults has another error to tell.
    promise.catch(() => undefined);
    this.#worker.once('message', resolve);
    this.#worker.once('error', reject);
    this.#worker.once('exit', (code) => reject(new Error(`the integrity check ended with code ${code}`)));
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
