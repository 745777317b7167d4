import { parentPort, workerData } from 'node:worker_threads';
import { migrateLedger } from '../ledger/migrate.ts';
import { openForWriting } from '../ledger/open.ts';
import { packError, type WriterReply, type WriterRequest, type WriterStart } from './writer-messages.ts';
import { WriterOps } from './writer-ops.ts';

/**
 * The thread that owns the connection which writes: a merge of a million rows never blocks the daemon's event loop,
 * and writes queue here in order instead of waiting for SQLite's lock. This file is started, never imported.
 */
function main(start: WriterStart): void {
  const port = parentPort;
  if (port === null) throw new Error('writer-thread.ts runs as a worker thread only');
  const connection = openForWriting(start.path);
  try {
    connection.pragma('cache_size = -32768');
    connection.pragma('temp_store = MEMORY');
    connection.pragma('journal_size_limit = 16777216');
    const migration = migrateLedger(connection, start.path, start.version, start.nowMs);
    port.postMessage([{ id: 0, result: migration }] satisfies WriterReply[]);
  } catch (error) {
    connection.close();
    throw error;
  }
  const ops = new WriterOps(connection, start.pages);
  const carryOut = (request: WriterRequest): WriterReply => {
    try {
      if (request.op === 'close') {
        connection.close();
        return { id: request.id, result: null };
      }
      const call = ops[request.op] as (args: unknown) => unknown;
      return { id: request.id, result: call.call(ops, request.args) };
    } catch (error) {
      return { id: request.id, error: packError(error) };
    }
  };
  port.on('message', (requests: WriterRequest[]) => {
    port.postMessage(requests.map(carryOut));
    if (requests.some(({ op }) => op === 'close')) port.close();
  });
}

try {
  main(workerData as WriterStart);
} catch (error) {
  parentPort?.postMessage([{ id: 0, error: packError(error) }] satisfies WriterReply[]);
}
