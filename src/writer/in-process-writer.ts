import { unpackError } from '../core/crossing-errors.ts';
import type { AppError } from '../core/errors.ts';
import type { Claimant } from '../ledger/journal/runs/claim-run.ts';
import { closeForWriting } from '../ledger/store/file/open.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import { type Args, type CommandName, carryOut, type Result } from './commands/command-table.ts';
import type { Desk } from './commands/desk.ts';
import { openDesk, packWriterError } from './open-desk.ts';
import { closedError, type Writer, type WriterStart } from './writer.ts';

/**
 * A writer without a thread, for tests and simulations: what it is given, answers and throws is what would have crossed
 * the thread. It waits for no timer, so a command is carried out before anything that a clock brings. As `claimant`, each
 * of several simulated processes can have an identity and chance of its own.
 */
export function openInProcessWriter(start: WriterStart, claimant: Claimant = {}): Promise<Writer> {
  return crossing(() => {
    const { desk, migration } = openDesk(start, claimant);
    return new InProcessWriter(desk, migration);
  });
}

export class InProcessWriter implements Writer {
  readonly migration: MigrationReport;
  readonly ended: Promise<AppError | null>;
  readonly #desk: Desk;
  readonly #end: (error: AppError | null) => void;
  #closing: Promise<void> | null = null;

  constructor(desk: Desk, migration: MigrationReport = { applied: 0, backup: null }) {
    this.#desk = desk;
    this.migration = migration;
    const { promise, resolve } = Promise.withResolvers<AppError | null>();
    this.ended = promise;
    this.#end = resolve;
  }

  async call<Name extends CommandName>(
    name: Name,
    args: Args<Name>,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Result<Name>> {
    if (this.#closing !== null) throw closedError();
    const given = structuredClone(args, { transfer: [...transfer] });
    return crossing(() => structuredClone(carryOut(this.#desk, name, given)));
  }

  close(): Promise<void> {
    this.#closing ??= crossing(() => {
      closeForWriting(this.#desk.connection);
      this.#end(null);
    });
    return this.#closing;
  }
}

/** Does the work after all that was given before, when who gave it has gone on. */
async function crossing<T>(work: () => T): Promise<T> {
  await null;
  try {
    return work();
  } catch (error) {
    throw unpackError(structuredClone(packWriterError(error)));
  }
}
