import { type MessagePort, parentPort } from 'node:worker_threads';
import { createRedactor } from '../core/text/redact.ts';
import { CheckpointLog, keyFileOf } from '../ledger/audit/anchor/checkpoint-log.ts';
import { type LedgerConnection, openForWriting } from '../ledger/store/file/open.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import { type MigrationReport, migrateLedger } from '../ledger/store/schema/migrate.ts';
import { packError, type WriterReply, type WriterRequest, type WriterStart } from './writer-messages.ts';
import { WriterOps } from './writer-ops.ts';

interface OpenLedger {
  connection: LedgerConnection;
  ops: WriterOps;
  migration: MigrationReport;
}

/**
 * The thread that owns the connection which writes: a merge of a million rows never blocks the daemon's event loop,
 * and writes queue here in order instead of waiting for SQLite's lock. This file is started, never imported.
 */
function main(): void {
  const port = parentPort;
  if (port === null) throw new Error('writer-thread.ts runs as a worker thread only');
  let ledger: OpenLedger | null = null;
  const carryOut = (request: WriterRequest): unknown => {
    if (request.op === 'open') {
      ledger = openLedger(request.args);
      return ledger.migration;
    }
    if (ledger === null) throw new Error(`no ledger is open for ${request.op}`);
    if (request.op === 'close') {
      ledger.connection.close();
      return null;
    }
    const call = ledger.ops[request.op] as (args: unknown) => unknown;
    return call.call(ledger.ops, request.args);
  };
  const answer = (request: WriterRequest): WriterReply => {
    try {
      return { id: request.id, result: carryOut(request) };
    } catch (error) {
      return { id: request.id, error: packError(error) };
    }
  };
  port.on('message', (requests: WriterRequest[]) => {
    post(port, requests.map(answer));
    if (requests.some(({ op }) => op === 'close')) port.close();
  });
}

/** Sends the answers together; one that cannot cross threads becomes an error of its own request alone. */
function post(port: MessagePort, replies: readonly WriterReply[]): void {
  try {
    port.postMessage(replies);
  } catch (error) {
    const [first] = replies;
    if (replies.length > 1) for (const reply of replies) post(port, [reply]);
    else if (first !== undefined) port.postMessage([{ id: first.id, error: packError(error) }]);
  }
}

function openLedger(start: WriterStart): OpenLedger {
  const connection = openForWriting(start.path);
  try {
    connection.pragma('cache_size = -32768');
    connection.pragma('temp_store = MEMORY');
    connection.pragma('journal_size_limit = 16777216');
    const migration = migrateLedger(connection, start.path, start.version, start.nowMs);
    const keyFile = start.checkpointKeyFile ?? keyFileOf(start.path);
    const checkpoints = new CheckpointLog(start.path, { keyFile, ledgerId: ledgerId(connection) });
    const ops = new WriterOps(connection, createRedactor(start.secrets ?? []), checkpoints);
    return { connection, ops, migration };
  } catch (error) {
    connection.close();
    throw error;
  }
}

main();
