import { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/schema/migrate.ts';
import { PageSlots } from './page-slots.ts';
import { WriterHandle } from './writer-handle.ts';
import type { OpName, WriterStart } from './writer-messages.ts';
import type { PageReceipt, WriterOps } from './writer-ops.ts';

type Args<Op extends OpName> = Parameters<WriterOps[Op]>[0];
type Result<Op extends OpName> = ReturnType<WriterOps[Op]>;

/**
 * The writing side of the ledger, which lives in a thread of its own. Calls are carried out one after the other in the
 * order in which they were made.
 */
export class LedgerWriter {
  /** What opening the ledger did to its schema. */
  readonly migration: MigrationReport;
  readonly #thread: WriterHandle;
  readonly #slots: PageSlots;
  #closing: Promise<void> | null = null;

  private constructor(thread: WriterHandle, slots: PageSlots, migration: MigrationReport) {
    this.#thread = thread;
    this.#slots = slots;
    this.migration = migration;
  }

  /** Creates or migrates the ledger, in a new thread or in one that has been started for it. */
  static async open(start: Omit<WriterStart, 'pages'>, thread = new WriterHandle()): Promise<LedgerWriter> {
    const slots = new PageSlots();
    try {
      const migration = await thread.send('open', { ...start, pages: slots.memory } satisfies WriterStart);
      return new LedgerWriter(thread, slots, migration as MigrationReport);
    } catch (error) {
      await thread.end();
      throw error;
    }
  }

  /** Carries out one operation, see `WriterOps`. Buffers in `transfer` are given away. */
  async call<Op extends OpName>(op: Op, args: Args<Op>, transfer: ArrayBuffer[] = []): Promise<Result<Op>> {
    if (this.#closing !== null) throw new AppError('writer_closed', "the ledger's writer is closed");
    return (await this.#thread.send(op, args, transfer)) as Result<Op>;
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
    this.#closing ??= this.#thread.hasEnded ? Promise.resolve() : this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await this.#thread.send('close', undefined);
    // It has let go of the ledger: nothing is lost by not waiting until it ends by itself.
    await this.#thread.end();
  }
}
