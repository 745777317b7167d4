import { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import type { Args, CommandName, Result } from './commands.ts';

/**
 * The writing side of the ledger. Commands are carried out one after the other, in the order in which they were given.
 * Arguments and results are copies; an error comes as an AppError with the code, hint and fields that it had, but not of
 * its class: go by `code`.
 */
export interface Writer {
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

/** The disk is to blame, or who may use it. */
export const DISK_FAULTS: readonly string[] = ['ledger_disk', 'ledger_io', 'ledger_unwritable'];

/** The same writer, which tells after each command what the ledger had against it; null: nothing. */
export function noticeFaults(writer: Writer, onEnd: (fault: { code: string; message: string } | null) => void): Writer {
  return {
    migration: writer.migration,
    ended: writer.ended,
    close: () => writer.close(),
    async call(name, args, transfer) {
      try {
        const result = await writer.call(name, args, transfer);
        onEnd(null);
        return result;
      } catch (error) {
        if (error instanceof AppError) onEnd({ code: error.code, message: error.message });
        throw error;
      }
    },
  };
}
