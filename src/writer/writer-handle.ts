import { Worker } from 'node:worker_threads';
import { AppError } from '../core/errors.ts';
import { WriterError, type WriterOp, type WriterReply, type WriterRequest } from './writer-messages.ts';

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * The writer's thread, see writer-thread.ts, as the others reach it. It loads its code at once, so one that is started
 * before its ledger is known is ready sooner.
 */
export class WriterHandle {
  readonly #worker = new Worker(new URL('./writer-thread.js', import.meta.url));
  /** The requests that the thread has not answered. */
  readonly #waiting = new Map<number, Waiting>();
  /** Requests that leave together at the end of this turn of the event loop. */
  #outgoing: { requests: WriterRequest[]; transfer: ArrayBuffer[] } = { requests: [], transfer: [] };
  #lastId = 0;
  /** Why the thread will never answer again. */
  #ended: AppError | null = null;

  constructor() {
    const worker = this.#worker;
    worker.on('message', (replies: WriterReply[]) => {
      for (const reply of replies) this.#answer(reply);
    });
    worker.on('error', (cause) => {
      this.#noteEnd(new AppError('writer_crashed', `the ledger's writer failed: ${cause.message}`, { cause }));
    });
    worker.on('exit', () => this.#noteEnd(new AppError('writer_closed', "the ledger's writer has been closed")));
  }

  get hasEnded(): boolean {
    return this.#ended !== null;
  }

  /** Has the thread carry out one operation after all that were sent before. Buffers in `transfer` are given away. */
  send(op: WriterOp, args: unknown, transfer: ArrayBuffer[] = []): Promise<unknown> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      if (this.#outgoing.requests.push({ id, op, args }) === 1) setImmediate(() => this.#flush());
      this.#outgoing.transfer.push(...transfer);
    });
  }

  /** Ends the thread, whatever it does. May be called twice. */
  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #answer(reply: WriterReply): void {
    const waiter = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('error' in reply) waiter?.reject(new WriterError(reply.error));
    else waiter?.resolve(reply.result);
  }

  #noteEnd(error: AppError): void {
    this.#ended ??= error;
    for (const waiter of this.#waiting.values()) waiter.reject(error);
    this.#waiting.clear();
  }

  /** Pages arrive several at a time, and a message costs more than what is in it. */
  #flush(): void {
    const { requests, transfer } = this.#outgoing;
    this.#outgoing = { requests: [], transfer: [] };
    try {
      this.#worker.postMessage(requests, transfer);
    } catch (error) {
      // What cannot cross threads is a defect of the caller's, who has to hear of it.
      for (const { id } of requests) this.#waiting.get(id)?.reject(error);
    }
  }
}
