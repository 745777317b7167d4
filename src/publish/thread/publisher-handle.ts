import { Worker } from 'node:worker_threads';
import { unpackError } from '../../core/crossing-errors.ts';
import { AppError } from '../../core/errors.ts';
import type { PublishReport } from '../send/publish-ledger.ts';
import type { PublisherStart, PublishReply, PublishRequest } from './publisher-messages.ts';

interface Waiting {
  resolve: (report: PublishReport) => void;
  reject: (error: unknown) => void;
}

/**
 * The publisher's thread as the daemon reaches it: neither a million rows nor a server that hangs hold up the event loop or
 * the writer. A thread that dies is begun anew by the next publish.
 */
export class PublisherHandle {
  readonly #start: PublisherStart;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #lastId = 0;

  constructor(start: PublisherStart) {
    this.#start = start;
  }

  /** One publish. Rejects with an AppError of the thread's code and words. */
  publish(nowMs: number): Promise<PublishReport> {
    this.#worker ??= this.#startThread();
    this.#lastId += 1;
    const request: PublishRequest = { id: this.#lastId, nowMs };
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
      this.#worker?.postMessage(request);
    });
  }

  /** Ends the thread, whatever it does: Postgres takes back what is not committed. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #startThread(): Worker {
    const worker = new Worker(new URL('./publisher-thread.js', import.meta.url), { workerData: this.#start });
    worker.on('message', (reply: PublishReply) => this.#answer(reply));
    const fail = (cause: unknown): void => {
      if (this.#worker === worker) this.#worker = null;
      const error = new AppError('publisher_ended', 'the thread that publishes has ended', { retryable: true, cause });
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    };
    worker.on('error', fail);
    worker.on('exit', fail);
    return worker;
  }

  #answer(reply: PublishReply): void {
    const waiter = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('report' in reply) waiter?.resolve(reply.report);
    else waiter?.reject(unpackError(reply.error));
  }
}
