import { type MessagePort, parentPort } from 'node:worker_threads';
import { closeForWriting } from '../ledger/store/file/open.ts';
import { carryOut } from './commands/command-table.ts';
import type { Desk } from './commands/desk.ts';
import { openDesk, packWriterError } from './open-desk.ts';
import type { WriterReply, WriterRequest } from './writer-messages.ts';

/**
 * The thread that owns the connection which writes: a merge of a million rows never blocks the daemon's event loop,
 * and writes queue here in order instead of waiting for SQLite's lock. This file is started, never imported.
 */
function main(): void {
  const port = parentPort;
  if (port === null) throw new Error('writer-thread.ts runs as a worker thread only');
  let desk: Desk | null = null;
  const answerTo = (request: WriterRequest): unknown => {
    if (request.op === 'open') {
      const opened = openDesk(request.args);
      desk = opened.desk;
      return opened.migration;
    }
    if (desk === null) throw new Error(`no ledger is open for ${request.op}`);
    if (request.op === 'close') {
      closeForWriting(desk.connection);
      return null;
    }
    return carryOut(desk, request.op, request.args);
  };
  const answer = (request: WriterRequest): WriterReply => {
    try {
      return { id: request.id, result: answerTo(request) };
    } catch (error) {
      return { id: request.id, error: packWriterError(error) };
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
    else if (first !== undefined) port.postMessage([{ id: first.id, error: packWriterError(error) }]);
  }
}

main();
