import { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import { WriterHandle } from './writer-handle.ts';
import type { Args, Result, WriterStart } from './writer-messages.ts';
import type { PageReceipt, WriterOps } from './writer-ops.ts';

/**
 * The writing side of the ledger, which lives in a thread of its own. Calls are carried out one after the other in the
 * order in which they were made.
 */
export class LedgerWriter {
  /** What opening the ledger did to its schema. */
  readonly migration: MigrationReport;
  readonly #thread: WriterHandle;
  #closing: Promise<void> | null = null;

  private constructor(thread: WriterHandle, migration: MigrationReport) {
    this.#thread = thread;
    this.migration = migration;
  }

  /** Creates or migrates the ledger, in a new thread or in one that has been started for it. */
  static async open(start: WriterStart, thread = new WriterHandle()): Promise<LedgerWriter> {
    try {
      return new LedgerWriter(thread, await thread.send('open', start));
    } catch (error) {
      await thread.end();
      throw error;
    }
  }

  /** Resolves once nothing can be written any more: with null after `close`, else with what ended the thread. */
  get ended(): Promise<AppError | null> {
    return this.#thread.ended;
  }

  /** Carries out one operation, see `WriterOps`. Buffers in `transfer` are given away. */
  async call<Op extends keyof WriterOps>(
    op: Op,
    args: Args<Op>,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Result<Op>> {
    if (this.#closing !== null) throw new AppError('writer_closed', "the ledger's writer is closed");
    return this.#thread.send(op, args, transfer);
  }

  /** Stages a page, whose body comes in pieces. */
  stagePage(of: { runKey: number; page: number }, pieces: readonly Uint8Array[]): Promise<PageReceipt> {
    const body = joined(pieces);
    return this.call('stagePage', { ...of, body }, [body]);
  }

  /** Finishes the calls made so far and closes the ledger. May be called twice. */
  close(): Promise<void> {
    // A thread that has ended has let go of the ledger already.
    this.#closing ??= this.#thread.hasEnded ? Promise.resolve() : this.#thread.close();
    return this.#closing;
  }
}

/** The pieces in memory of their own, which can be given away. */
function joined(pieces: readonly Uint8Array[]): ArrayBuffer {
  const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const whole = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole.buffer;
}
