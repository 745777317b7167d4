import { type MessagePort, parentPort } from 'node:worker_threads';
import type { PackedError } from '../core/errors.ts';
import { closeForWriting } from '../ledger/store/file/open.ts';
import { type Args, type CommandName, execute } from './commands.ts';
import { openSession, packWriterError, type Session, type WriterOptions } from './session.ts';

/**
 * Runs the thread that owns the writing connection: merging a million rows never blocks the daemon's event loop, and
 * writes queue here in order instead of waiting for SQLite's lock.
 */
function runWriterLoop(): void {
  const port = parentPort;
  if (port === null) throw new Error('this runs in a worker thread only');
  let session: Session | null = null;
  const answerTo = (request: WriterRequest): unknown => {
    if (request.op === 'open') {
      const opened = openSession(request.args);
      session = opened.session;
      return opened.migration;
    }
    if (session === null) throw new Error(`no ledger is open for ${request.op}`);
    if (request.op === 'close') {
      closeForWriting(session.connection);
      return null;
    }
    return execute(session, request.op, request.args);
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

/** Sends the replies in one message. A reply that cannot cross threads is replaced by an error for its request only. */
function post(port: MessagePort, replies: readonly WriterReply[]): void {
  try {
    port.postMessage(replies);
  } catch (error) {
    const [first] = replies;
    if (replies.length > 1) for (const reply of replies) post(port, [reply]);
    else if (first !== undefined) port.postMessage([{ id: first.id, error: packWriterError(error) }]);
  }
}

/** A request to the thread. The first opens the ledger, the next ones are commands, and the last closes the ledger. */
export type WriterRequest = { id: number } & (
  | { op: 'open'; args: WriterOptions }
  | { [Name in CommandName]: { op: Name; args: Args<Name> } }[CommandName]
  | { op: 'close'; args: null }
);

export type WriterReply = { id: number; result: unknown } | { id: number; error: PackedError };

runWriterLoop();
