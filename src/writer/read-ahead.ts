import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { headOfChain } from '../ledger/journal/runs/digest.ts';
import { type FiguresAhead, type KnownRows, readKnown } from '../ledger/journal/runs/known-figures.ts';
import type { LedgerReader } from '../ledger/store/file/open.ts';

/** Reads in progress or waiting to be taken. */
const READS_AHEAD = 8;
/** Milliseconds to wait for the other thread, which may have other work; then the writer reads for itself. */
const WAIT_MS = 50;

/** `head` is the end of the chain as the writer sees it: a connection with the same head sees the same figures. */
type Order = { order: number; periodKey: number; head: { seq: number; digest: string } } | { order: number };

interface Answer {
  order: number;
  /** Null when there is nothing to read from. */
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
  #order = 0;

  constructor(link: ReadAheadLink) {
    this.#link = link;
  }

  begin(periodKey: number, head: { seq: number; digest: string }): () => KnownRows | null {
    this.#order += 1;
    const order = this.#order;
    this.#ask({ order, periodKey, head });
    for (let more = 1; more < READS_AHEAD; more += 1) this.#ask({ order });
    return () => (order === this.#order ? this.#next(order) : null);
  }

  #next(order: number): KnownRows | null {
    const { port, sent } = this.#link;
    for (;;) {
      const seen = Atomics.load(sent, 0);
      const answer = receiveMessageOnPort(port)?.message as Answer | undefined;
      if (answer?.order === order) {
        if (answer.rows !== null) this.#ask({ order });
        return answer.rows;
      }
      if (answer === undefined && Atomics.wait(sent, 0, seen, WAIT_MS) === 'timed-out') return null;
    }
  }

  #ask(order: Order): void {
    this.#link.port.postMessage(order);
  }
}

/** Starts the reading thread's end. `open` opens the ledger on first use. Returns a function that closes it. */
export function readForWriter({ port, sent }: ReadAheadLink, open: () => LedgerReader): () => void {
  let reader: LedgerReader | null = null;
  let reading: { order: number; periodKey: number; after: number } | null = null;
  const opened = (): LedgerReader => {
    if (reader === null) {
      reader = open();
      // A small cache, because each page is read once.
      reader.connection.pragma('cache_size = -1024');
    }
    return reader;
  };
  const rowsOf = (asked: Order): KnownRows | null => {
    const { connection } = opened();
    if ('periodKey' in asked) {
      const { order, periodKey, head } = asked;
      const own = headOfChain(connection);
      reading = own.seq === head.seq && own.digest === head.digest ? { order, periodKey, after: 0 } : null;
    }
    if (reading?.order !== asked.order) return null;
    const rows = readKnown(connection, reading.periodKey, reading.after);
    reading.after = rows[rows.length / 3 - 1] ?? reading.after;
    return rows;
  };
  const answer = (asked: Order): Answer => {
    try {
      return { order: asked.order, rows: rowsOf(asked) };
    } catch {
      // The writer then reads for itself, and reports the error.
      return { order: asked.order, rows: null };
    }
  };
  let waiting: Order[] = [];
  let isAnswering = false;
  // Answers one request per turn of the event loop, which has other work too; a message handler alone would never
  // yield.
  const answerNext = (): void => {
    const asked = waiting.shift();
    isAnswering = asked !== undefined;
    if (asked === undefined) return;
    const answered = answer(asked);
    port.postMessage(answered, answered.rows === null ? [] : [answered.rows.buffer]);
    Atomics.add(sent, 0, 1);
    Atomics.notify(sent, 0);
    setImmediate(answerNext);
  };
  port.on('message', (asked: Order) => {
    if ('periodKey' in asked) waiting = [];
    waiting.push(asked);
    if (!isAnswering) setImmediate(answerNext);
    isAnswering = true;
  });
  port.unref();
  return () => {
    port.close();
    reader?.close();
  };
}
