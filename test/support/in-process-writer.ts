import { type AppError, unpackError } from '../../src/core/errors.ts';
import type { LeaseHolder } from '../../src/ledger/journal/runs/claim-run.ts';
import { closeForWriting } from '../../src/ledger/store/file/open.ts';
import type { MigrationReport } from '../../src/ledger/store/schema/migrate.ts';
import { type Args, type CommandName, execute, type Result } from '../../src/writer/commands.ts';
import { openSession, packWriterError, type Session, type WriterOptions } from '../../src/writer/session.ts';
import { type CommandPort, createWriter, type Writer, writerClosedError } from '../../src/writer/writer.ts';

/**
 * A writer without a thread: what it is given, answers and throws is what would have crossed
 * the thread. It waits for no timer, so a command is carried out before anything that a clock brings. As `claimant`, each
 * of several simulated processes can have an identity and chance of its own.
 */
export function openInProcessWriter(start: WriterOptions, claimant: LeaseHolder = {}): Promise<Writer> {
  return crossing(() => {
    const { session, migration } = openSession(start, claimant);
    return createWriter(new InProcessWriter(session, migration));
  });
}

export class InProcessWriter implements CommandPort {
  readonly migration: MigrationReport;
  readonly ended: Promise<AppError | null>;
  readonly #session: Session;
  readonly #end: (error: AppError | null) => void;
  #closing: Promise<void> | null = null;

  constructor(session: Session, migration: MigrationReport = { applied: 0, backup: null }) {
    this.#session = session;
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
    if (this.#closing !== null) throw writerClosedError();
    const given = structuredClone(args, { transfer: [...transfer] });
    return crossing(() => structuredClone(execute(this.#session, name, given)));
  }

  close(): Promise<void> {
    this.#closing ??= crossing(() => {
      closeForWriting(this.#session.connection);
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
