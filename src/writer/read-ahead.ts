import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { headOfChain } from '../ledger/journal/runs/digest.ts';
import { type FiguresAhead, type KnownRows, readKnown } from '../ledger/journal/runs/known-figures.ts';
import type { LedgerReader } from '../ledger/store/file/open.ts';

/** Reads in progress or waiting to be taken. */
const READS_AHEAD = 8;
/** Milliseconds to wait for the other thread, which may have other work; then the writer reads for itself. */
const WAIT_MS = 50;

/** `head` is the end of the chain as the writer sees it: a connection with the same head sees the same figures. */
type ReadRequest =
  | { requestId: number; periodKey: number; head: { seq: number; digest: string } }
  | { requestId: number };

interface ReadAheadAnswer {
  requestId: number;
  /** The rows; null when there is nothing to read from. */
  rows: KnownRows | null;
}

/** The message port that both threads share, and the number of answers sent. */
export interface ReadAheadLink {
  port: MessagePort;
  sent: Int32Array<SharedArrayBuffer>;
}

/**
 * The writer's end. While the writer compares figures, another thread reads the next ones on its own connection. That
 * connection sees the ledger as it was before the writer's transaction, so only rows that the transaction has not
 * changed yet may be read.
 */
export class ReadAhead implements FiguresAhead {
  readonly #link: ReadAheadLink;
  #requestId = 0;

  constructor(link: ReadAheadLink) {
    this.#link = link;
  }

  begin(periodKey: number, head: { seq: number; digest: string }): () => KnownRows | null {
    this.#requestId += 1;
    const requestId = this.#requestId;
    this.#ask({ requestId, periodKey, head });
    for (let more = 1; more < READS_AHEAD; more += 1) this.#ask({ requestId });
    return () => (requestId === this.#requestId ? this.#next(requestId) : null);
  }

  #next(requestId: number): KnownRows | null {
    const { port, sent } = this.#link;
    for (;;) {
      const seen = Atomics.load(sent, 0);
      const answer = receiveMessageOnPort(port)?.message as ReadAheadAnswer | undefined;
      if (answer?.requestId === requestId) {
        if (answer.rows !== null) this.#ask({ requestId });
        return answer.rows;
      }
      if (answer === undefined && Atomics.wait(sent, 0, seen, WAIT_MS) === 'timed-out') return null;
    }
  }

  #ask(requestId: ReadRequest): void {
    this.#link.port.postMessage(requestId);
  }
}

/** Starts the reading thread's end. `open` opens the ledger on first use. Returns a function that closes it. */
export function readForWriter({ port, sent }: ReadAheadLink, open: () => LedgerReader): () => void {
  let reader: LedgerReader | null = null;
  let reading: { requestId: number; periodKey: number; after: number } | null = null;
  const openedReader = (): LedgerReader => {
    if (reader === null) {
      reader = open();
      // A small cache, because each page is read once.
      reader.connection.pragma('cache_size = -1024');
    }
    return reader;
  };
  const rowsOf = (request: ReadRequest): KnownRows | null => {
    const { connection } = openedReader();
    if ('periodKey' in request) {
      const { requestId, periodKey, head } = request;
      const own = headOfChain(connection);
      reading = own.seq === head.seq && own.digest === head.digest ? { requestId, periodKey, after: 0 } : null;
    }
    if (reading?.requestId !== request.requestId) return null;
    const rows = readKnown(connection, reading.periodKey, reading.after);
    reading.after = rows[rows.length / 3 - 1] ?? reading.after;
    return rows;
  };
  const answer = (request: ReadRequest): ReadAheadAnswer => {
    try {
      return { requestId: request.requestId, rows: rowsOf(request) };
    } catch {
      // The writer then reads for itself, and reports the error.
      return { requestId: request.requestId, rows: null };
    }
  };
  let waiting: ReadRequest[] = [];
  let isAnswering = false;
  // Answers one request per turn of the event loop, which has other work too; a message handler alone would never
  // yield.
  const answerNext = (): void => {
    const request = waiting.shift();
    isAnswering = request !== undefined;
    if (request === undefined) return;
    const answered = answer(request);
    port.postMessage(answered, answered.rows === null ? [] : [answered.rows.buffer]);
    Atomics.add(sent, 0, 1);
    Atomics.notify(sent, 0);
    setImmediate(answerNext);
  };
  port.on('message', (request: ReadRequest) => {
    if ('periodKey' in request) waiting = [];
    waiting.push(request);
    if (!isAnswering) setImmediate(answerNext);
    isAnswering = true;
  });
  port.unref();
  return () => {
    port.close();
    reader?.close();
  };
}
