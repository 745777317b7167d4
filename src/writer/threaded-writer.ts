import { AppError, unpackError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import type { Args, CommandName, Result } from './commands.ts';
import type { WriterOptions } from './session.ts';
import { type StartedThread, startThread } from './start-thread.ts';
import { type CommandPort, createWriter, type Writer, writerClosedError } from './writer.ts';
import type { WriterReply, WriterRequest } from './writer-loop.ts';

interface WaitingCall {
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
}

interface Outgoing {
  request: WriterRequest;
  transfer: readonly ArrayBuffer[];
}

/** Opens the ledger on a new thread, or on `thread`, which was started earlier; creates or migrates the ledger. */
export async function openThreadedWriter(start: WriterOptions, thread?: StartedThread): Promise<Writer> {
  const writer = new ThreadedWriter(thread);
  try {
    await writer.open(start);
    return createWriter(writer);
  } catch (error) {
    await writer.end();
    throw error;
  }
}

/** A writer whose commands run on a thread of their own, see writer-thread.ts. */
export class ThreadedWriter implements CommandPort {
  migration: MigrationReport = { applied: 0, backup: null };
  readonly ended: Promise<AppError | null>;
  readonly #thread: StartedThread;
  readonly #waiting = new Map<number, WaitingCall>();
  /** Requests to send together at the end of this turn of the event loop. */
  #outgoing: Outgoing[] = [];
  #lastId = 0;
  #end: AppError | null = null;
  /** True once the thread is closed on purpose. */
  #ending = false;
  #closing: Promise<void> | null = null;

  constructor(thread: StartedThread = startThread()) {
    this.#thread = thread;
    const { worker } = thread;
    worker.ref();
    worker.on('message', (replies: WriterReply[]) => {
      for (const reply of replies) this.#answer(reply);
    });
    this.ended = thread.ended.then((cause) => {
      const error =
        cause === null
          ? new AppError('writer_closed', "the ledger's writer has ended")
          : new AppError('writer_crashed', `the ledger's writer failed: ${cause.message}`, { cause });
      this.#end = error;
      for (const waiter of this.#waiting.values()) waiter.reject(error);
      this.#waiting.clear();
      return this.#ending ? null : error;
    });
  }

  /** Opens the ledger. Call it once, before anything else. */
  async open(start: WriterOptions): Promise<void> {
    const opened = this.#send<MigrationReport>('open', start);
    // Sends the request now and not after this turn of the event loop: the turn may still load a library, and the
    // thread opens the ledger meanwhile.
    this.#flush();
    this.migration = await opened;
  }

  async call<Name extends CommandName>(
    name: Name,
    args: Args<Name>,
    transfer?: readonly ArrayBuffer[],
  ): Promise<Result<Name>> {
    if (this.#closing !== null) throw writerClosedError();
    return this.#send(name, args, transfer);
  }

  close(): Promise<void> {
    // A thread that has ended has already released the ledger, so there is nothing to close.
    this.#closing ??= this.#end !== null ? Promise.resolve() : this.#closeThread();
    return this.#closing;
  }

  async #closeThread(): Promise<void> {
    this.#ending = true;
    await this.#send('close', null);
    await this.end();
  }

  /** Terminates the thread, whatever it is doing. May be called twice. */
  async end(): Promise<void> {
    this.#ending = true;
    await this.#thread.worker.terminate();
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

  /**
   * Sends all outgoing requests in one message. Several pages arrive in one turn of the event loop, and a message costs
   * more than its content.
   */
  #flush(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = [];
    if (outgoing.length > 0) this.#post(outgoing);
  }

  #post(outgoing: readonly Outgoing[]): void {
    try {
      this.#thread.worker.postMessage(
        outgoing.map(({ request }) => request),
        outgoing.flatMap(({ transfer }) => transfer),
      );
    } catch (error) {
      const [first] = outgoing;
      // A request that cannot cross threads is a defect of its caller. Only that request fails; the others are sent.
      if (outgoing.length > 1) for (const one of outgoing) this.#post([one]);
      else if (first !== undefined) this.#refuse(first.request.id, error);
    }
  }

  #refuse(id: number, error: unknown): void {
    this.#waiting.get(id)?.reject(error);
    this.#waiting.delete(id);
  }
}
