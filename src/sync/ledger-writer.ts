import { Worker } from 'node:worker_threads';
import { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/migrate.ts';
import { PageSlots } from './page-slots.ts';
import type { PageReceipt } from './walk.ts';
import { type OpName, WriterError, type WriterReply, type WriterStart } from './writer-messages.ts';
import type { WriterOps } from './writer-ops.ts';

type Args<Op extends OpName> = Parameters<WriterOps[Op]>[0];
type Result<Op extends OpName> = ReturnType<WriterOps[Op]>;

interface Waiting {
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
}

/** The calls that the thread has not answered, and why it never will once it has ended. */
interface Line {
  waiting: Map<number, Waiting>;
  ended: AppError | null;
}

/**
 * The writing side of the ledger, which lives in a thread of its own. Calls are carried out one after the other in the
 * order in which they were made.
 */
export class LedgerWriter {
  /** What opening the ledger did to its schema. */
  readonly migration: MigrationReport;
  readonly #worker: Worker;
  readonly #line: Line;
  readonly #slots: PageSlots;
  /** Calls that leave together at the end of this turn of the event loop. */
  #outgoing: { requests: { id: number; op: OpName | 'close'; args: unknown }[]; transfer: ArrayBuffer[] } = {
    requests: [],
    transfer: [],
  };
  #lastId = 0;
  #closing: Promise<void> | null = null;

  private constructor(worker: Worker, line: Line, slots: PageSlots, migration: MigrationReport) {
    this.#worker = worker;
    this.#line = line;
    this.#slots = slots;
    this.migration = migration;
  }

  /** Starts the thread, which creates or migrates the ledger. */
  static async open(start: Omit<WriterStart, 'pages'>): Promise<LedgerWriter> {
    const slots = new PageSlots();
    const workerData: WriterStart = { ...start, pages: slots.memory };
    const worker = new Worker(new URL('./writer-thread.js', import.meta.url), { workerData });
    const line: Line = { waiting: new Map(), ended: null };
    const { waiting } = line;
    const opened = new Promise<MigrationReport>((resolve, reject) => waiting.set(0, { resolve, reject }));
    const answer = (reply: WriterReply): void => {
      const waiter = waiting.get(reply.id);
      waiting.delete(reply.id);
      if ('error' in reply) waiter?.reject(new WriterError(reply.error));
      else waiter?.resolve(reply.result as never);
    };
    worker.on('message', (replies: WriterReply[]) => {
      for (const reply of replies) answer(reply);
    });
    const end = (error: AppError): void => {
      line.ended ??= error;
      for (const waiter of waiting.values()) waiter.reject(error);
      waiting.clear();
    };
    worker.on('error', (cause) =>
      end(new AppError('writer_crashed', `the ledger's writer failed: ${cause.message}`, { cause })),
    );
    worker.on('exit', () => end(new AppError('writer_closed', "the ledger's writer has been closed")));
    return new LedgerWriter(worker, line, slots, await opened);
  }

  /** Carries out one operation, see `WriterOps`. Buffers in `transfer` are given away. */
  call<Op extends OpName>(op: Op, args: Args<Op>, transfer: ArrayBuffer[] = []): Promise<Result<Op>> {
    if (this.#closing !== null) return Promise.reject(new AppError('writer_closed', "the ledger's writer is closed"));
    return this.#send(op, args, transfer);
  }

  /** Stages a page, whose body comes in pieces. */
  async stagePage(of: { runKey: number; page: number }, pieces: readonly Uint8Array[]): Promise<PageReceipt> {
    const place = this.#slots.put(pieces);
    if (place === null) {
      const body = new Uint8Array(Buffer.concat(pieces)).buffer;
      return this.call('stagePage', { ...of, body }, [body]);
    }
    try {
      return await this.call('stagePage', { ...of, body: place });
    } finally {
      this.#slots.release(place);
    }
  }

  /** Finishes the calls made so far and closes the ledger. May be called twice. */
  close(): Promise<void> {
    // A thread that has ended has let go of the ledger already.
    this.#closing ??= this.#line.ended === null ? this.#end() : Promise.resolve();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await this.#send('close', undefined, []);
    // It has let go of the ledger; by itself it would end only after the engine's last compilations.
    await this.#worker.terminate();
  }

  #send<T>(op: OpName | 'close', args: unknown, transfer: ArrayBuffer[]): Promise<T> {
    if (this.#line.ended !== null) return Promise.reject(this.#line.ended);
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise<T>((resolve, reject) => {
      this.#line.waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
      if (this.#outgoing.requests.push({ id, op, args }) === 1) setImmediate(() => this.#flush());
      this.#outgoing.transfer.push(...transfer);
    });
  }

  /** Pages arrive several at a time, and a message costs more than what is in it. */
  #flush(): void {
    const { requests, transfer } = this.#outgoing;
    this.#outgoing = { requests: [], transfer: [] };
    try {
      this.#worker.postMessage(requests, transfer);
    } catch (error) {
      // What cannot cross threads is a defect of the caller's, who has to hear of it.
      for (const { id } of requests) this.#line.waiting.get(id)?.reject(error);
    }
  }
}
