import { Worker } from 'node:worker_threads';
import { unpackError } from '../core/crossing-errors.ts';
import { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import type { Args, CommandName, Result } from './commands/command-table.ts';
import type { WriterStart } from './writer.ts';
import type { WriterReply, WriterRequest } from './writer-messages.ts';

interface Waiting {
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
}

interface Outgoing {
  request: WriterRequest;
  transfer: readonly ArrayBuffer[];
}

/**
 * The writer's thread, see writer-thread.ts, as the others reach it. It loads its code at once, so one that is started
 * before its ledger is known is ready sooner.
 */
export class WriterHandle {
  /** Resolves when the thread is gone: with null when that was asked for, else with the reason. Never rejects. */
  readonly ended: Promise<AppError | null>;
  readonly #worker = new Worker(new URL('./writer-thread.js', import.meta.url), {
    // Pages that have been staged are let go of before many lie about, as by pm2's setting for the daemon.
    resourceLimits: { maxYoungGenerationSizeMb: 12 },
  });
  /** The requests that the thread has not answered. */
  readonly #waiting = new Map<number, Waiting>();
  /** Requests that leave together at the end of this turn of the event loop. */
  #outgoing: Outgoing[] = [];
  #lastId = 0;
  /** Why the thread will never answer again. */
  #end: AppError | null = null;
  /** Its end is wanted. */
  #ending = false;

  constructor() {
    const worker = this.#worker;
    worker.on('message', (replies: WriterReply[]) => {
      for (const reply of replies) this.#answer(reply);
    });
    const { promise, resolve } = Promise.withResolvers<AppError | null>();
    this.ended = promise;
    const noteEnd = (error: AppError): void => {
      this.#end ??= error;
      resolve(this.#ending ? null : error);
      for (const waiter of this.#waiting.values()) waiter.reject(error);
      this.#waiting.clear();
    };
    worker.on('error', (cause) => {
      noteEnd(new AppError('writer_crashed', `the ledger's writer failed: ${cause.message}`, { cause }));
    });
    worker.on('exit', () => noteEnd(new AppError('writer_closed', "the ledger's writer has ended")));
  }

  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** To be called once, and first. */
  open(start: WriterStart): Promise<MigrationReport> {
    const opened = this.#send<MigrationReport>('open', start);
    // At once, for this turn of the event loop may go on to load a library that takes longer than to open the ledger.
    this.#flush();
    return opened;
  }

  /** Has the thread carry out one command after all that were sent before. Buffers in `transfer` are given away. */
  call<Name extends CommandName>(
    name: Name,
    args: Args<Name>,
    transfer?: readonly ArrayBuffer[],
  ): Promise<Result<Name>> {
    return this.#send(name, args, transfer);
  }

  /** Has the thread finish what it was sent and let go of the ledger, and ends it. */
  async close(): Promise<void> {
    this.#ending = true;
    await this.#send('close', null);
    await this.end();
  }

  /** Ends the thread, whatever it does. May be called twice. */
  async end(): Promise<void> {
    this.#ending = true;
    await this.#worker.terminate();
  }

  #send<Answer>(
    op: WriterRequest['op'],
    args: WriterRequest['args'],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Answer> {
    if (this.#end !== null) return Promise.reject(this.#end);
    this.#lastId += 1;
    const request = { id: this.#lastId, op, args } as WriterRequest;
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
      if (this.#outgoing.push({ request, transfer }) === 1) setImmediate(() => this.#flush());
    });
  }

  #answer(reply: WriterReply): void {
    const waiter = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('error' in reply) waiter?.reject(unpackError(reply.error));
    else waiter?.resolve(reply.result as never);
  }

  /** Pages arrive several at a time, and a message costs more than what is in it. */
  #flush(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = [];
    if (outgoing.length > 0) this.#post(outgoing);
  }

  #post(outgoing: readonly Outgoing[]): void {
    try {
      this.#worker.postMessage(
        outgoing.map(({ request }) => request),
        outgoing.flatMap(({ transfer }) => transfer),
      );
    } catch (error) {
      const [first] = outgoing;
      // What cannot cross threads is a defect of one caller's: it hears of it, and the others' requests go on.
      if (outgoing.length > 1) for (const one of outgoing) this.#post([one]);
      else if (first !== undefined) this.#refuse(first.request.id, error);
    }
  }

  #refuse(id: number, error: unknown): void {
    this.#waiting.get(id)?.reject(error);
    this.#waiting.delete(id);
  }
}
