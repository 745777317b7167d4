import { Worker } from 'node:worker_threads';
import { type Cancel, systemClock } from '../../core/clock.ts';
import { AppError, unpackError } from '../../core/errors.ts';
import { siblingModule } from '../../core/process/module-file.ts';
import type { Actor, RenderInThread, RunInThread, Scope } from '../../operations/operation.ts';
import type { Context } from '../../wiring/context.ts';
import type { ReadMessage, ReadOrder, ReadReply } from './read-thread.ts';

/** The thread ends after this time without a read, because its code takes memory. */
const READ_THREAD_IDLE_MS = 60_000;
const READ_THREAD_MEMORY_MB = 1024;
/** The most reads that can wait. Further reads fail with `reads_busy`. */
const MAX_WAITING_READS = 8;

interface WaitingRead {
  resolve: (document: never) => void;
  reject: (error: unknown) => void;
}

/**
 * Runs slow reads in a thread, so that other requests are answered meanwhile. With a large ledger, such reads take
 * seconds. The thread starts with the first read.
 */
export class SlowReads {
  readonly #waiting = new Map<number, WaitingRead>();
  #worker: Worker | null = null;
  #lastId = 0;
  #cancelIdle: Cancel = () => undefined;

  async #run<Output extends object>(order: Omit<ReadOrder, 'id'>, signal: AbortSignal): Promise<Output> {
    signal.throwIfAborted();
    if (this.#waiting.size >= MAX_WAITING_READS) {
      throw new AppError('reads_busy', `${MAX_WAITING_READS} reads of the whole ledger wait`, {
        hint: 'try again in a few seconds',
        retryable: true,
      });
    }
    this.#cancelIdle();
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Output>();
    this.#waiting.set(id, { resolve, reject });
    worker.postMessage({ id, ...order } satisfies ReadMessage);
    const cancel = (): void => worker.postMessage({ cancel: id } satisfies ReadMessage);
    signal.addEventListener('abort', cancel, { once: true });
    return promise.finally(() => signal.removeEventListener('abort', cancel));
  }

  /** Returns the function that runs the slow reads of a caller until its signal aborts. */
  of(context: Context, actor: Actor, signal: AbortSignal): RunInThread {
    const { clock } = context;
    return (operation, input, page) => {
      const order = { config: context.config, operation, input, page: page ?? null, as: 'document' as const, actor };
      return this.#run({ ...order, nowMs: clock.now() }, signal);
    };
  }

  /** Returns the function that renders the documents of slow reads for a caller until its signal aborts. */
  rendererOf(context: Context, actor: Actor, signal: AbortSignal): RenderInThread {
    return (operation, input) => this.#render({ context, actor, signal }, operation, input, 'json');
  }

  /** Returns the answer of a slow read, or of a slow dry run, as JSON in UTF-8. The answer contains its `snapshot`. */
  body(scope: Scope, operation: string, input: Record<string, unknown>): Promise<Uint8Array> {
    return this.#render(scope, operation, input, 'body');
  }

  #render(
    { context: { config, clock }, actor, signal }: Pick<Scope, 'context' | 'actor' | 'signal'>,
    operation: string,
    input: Record<string, unknown>,
    as: 'json' | 'body',
  ): Promise<Uint8Array> {
    return this.#run({ config, operation, input, page: null, as, actor, nowMs: clock.now() }, signal);
  }

  /** Ends the thread. Waiting reads fail with `reason`. May be called twice. */
  async stop(reason = new AppError('cancelled', 'the daemon is stopping')): Promise<void> {
    this.#cancelIdle();
    const ended = this.#worker;
    this.#worker = null;
    for (const waiter of this.#waiting.values()) waiter.reject(reason);
    this.#waiting.clear();
    await ended?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(siblingModule(import.meta.url, 'read-thread'), {
      resourceLimits: { maxOldGenerationSizeMb: READ_THREAD_MEMORY_MB },
    });
    worker.unref();
    worker.on('message', (reply: ReadReply) => this.#answer(reply));
    worker.on('error', (cause) => {
      if (this.#worker === worker)
        void this.stop(new AppError('read_failed', `the read failed: ${cause.message}`, { cause }));
    });
    return worker;
  }

  #answer(reply: ReadReply): void {
    const waiter = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('document' in reply) waiter?.resolve(reply.document as never);
    else waiter?.reject(unpackError(reply.error));
    if (this.#waiting.size === 0) {
      this.#cancelIdle = systemClock.after(READ_THREAD_IDLE_MS, () => void this.stop(), { background: true });
    }
  }
}
