import type { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import type { Args, CommandName, Result } from './commands/command-table.ts';
import { closedError, type Writer, type WriterStart } from './writer.ts';
import { WriterHandle } from './writer-handle.ts';

/** Creates or migrates the ledger in a new thread, or in one that has been started for it and has not ended since. */
export async function openThreadedWriter(start: WriterStart, started?: WriterHandle): Promise<Writer> {
  const thread = started === undefined || started.hasEnded ? new WriterHandle() : started;
  try {
    return new ThreadedWriter(thread, await thread.open(start));
  } catch (error) {
    await thread.end();
    throw error;
  }
}

/** The writer in a thread of its own, see writer-thread.ts. */
class ThreadedWriter implements Writer {
  readonly migration: MigrationReport;
  readonly #thread: WriterHandle;
  #closing: Promise<void> | null = null;

  constructor(thread: WriterHandle, migration: MigrationReport) {
    this.#thread = thread;
    this.migration = migration;
  }

  get ended(): Promise<AppError | null> {
    return this.#thread.ended;
  }

  async call<Name extends CommandName>(
    name: Name,
    args: Args<Name>,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Result<Name>> {
    if (this.#closing !== null) throw closedError();
    return this.#thread.call(name, args, transfer);
  }

  close(): Promise<void> {
    // A thread that has ended has let go of the ledger already.
    this.#closing ??= this.#thread.hasEnded ? Promise.resolve() : this.#thread.close();
    return this.#closing;
  }
}
