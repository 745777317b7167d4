import { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import type { Args, CommandName, Result } from './commands.ts';

/**
 * The writing side of the ledger. Commands are carried out one after the other, in the order in which they were given.
 * Arguments and results are copies; an error comes as an AppError with the code, hint and fields that it had, but not of
 * its class: go by `code`.
 */
export interface Writer {
  /** What opening the ledger did to its schema. */
  readonly migration: MigrationReport;
  /** Resolves once nothing can be written any more: with null after `close`, else with what ended it. Never rejects. */
  readonly ended: Promise<AppError | null>;
  /** Carries out one command, see `COMMANDS`. Buffers in `transfer` are given away, not copied. */
  call<Name extends CommandName>(
    name: Name,
    args: Args<Name>,
    transfer?: readonly ArrayBuffer[],
  ): Promise<Result<Name>>;
  /** Finishes the commands given so far and closes the ledger; later ones end with `writer_closed`. May be called twice. */
  close(): Promise<void>;
}

export function closedError(): AppError {
  return new AppError('writer_closed', "the ledger's writer is closed");
}

/** The same writer, which tells each time that another process's lock has kept it from writing. */
export function noticeLock(writer: Writer, onLocked: () => void): Writer {
  return {
    migration: writer.migration,
    ended: writer.ended,
    close: () => writer.close(),
    async call(name, args, transfer) {
      try {
        return await writer.call(name, args, transfer);
      } catch (error) {
        if (error instanceof AppError && error.code === 'ledger_busy') onLocked();
        throw error;
      }
    },
  };
}
