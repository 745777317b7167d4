import { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import type { Args, CommandName, Result, WriterCommands } from './commands.ts';

/**
 * The writing side of the ledger, with a method for each of `WRITER_COMMANDS`. Commands run one after the other, in call
 * order. Arguments and results are copies. An error arrives as an AppError with its code, hint and fields, but without
 * its class: compare `code`. Buffers in `transfer`, a second argument, are moved rather than copied.
 */
export interface Writer extends WriterCommands, Omit<CommandPort, 'call'> {}

/** The connection of a writer to the code that executes its commands, in a thread or in this process. */
export interface CommandPort {
  readonly migration: MigrationReport;
  /**
   * Resolves once writing is no longer possible: with null after `close`, else with the error that ended the writer.
   * Never rejects.
   */
  readonly ended: Promise<AppError | null>;
  /** Executes one command. */
  call<Name extends CommandName>(
    name: Name,
    args: Args<Name>,
    transfer?: readonly ArrayBuffer[],
  ): Promise<Result<Name>>;
  /**
   * Finishes the commands called so far and closes the ledger; later ones fail with `writer_closed`. May be called
   * twice.
   */
  close(): Promise<void>;
}

/** Returns a writer that sends the command of each method through `port`. */
export function createWriterOnPort(port: CommandPort): Writer {
  const methods: Record<string, unknown> = {
    migration: port.migration,
    ended: port.ended,
    close: () => port.close(),
  };
  // Only the thread loads the table of commands, because it is slow to load: each method is made on first use.
  return new Proxy(methods as unknown as Writer, {
    get(_writer, name) {
      // `await` reads `then`, to find out whether the writer is a promise.
      if (typeof name === 'string' && name !== 'then' && !(name in methods)) {
        const command = name as CommandName;
        methods[name] = (args: Args<CommandName>, transfer?: readonly ArrayBuffer[]) =>
          port.call(command, args, transfer);
      }
      return Reflect.get(methods, name);
    },
  });
}

export function closedError(): AppError {
  return new AppError('writer_closed', "the ledger's writer is closed");
}

/** Error codes caused by the disk or its permissions. */
export const DISK_FAULTS: readonly string[] = ['ledger_disk', 'ledger_io', 'ledger_unwritable'];

/** Returns a writer that reports the ledger's error after each command; null when there was none. */
export function reportFaults(writer: Writer, onEnd: (fault: { code: string; message: string } | null) => void): Writer {
  const commands: WriterCommands = writer;
  return createWriterOnPort({
    migration: writer.migration,
    ended: writer.ended,
    close: () => writer.close(),
    async call(name, args, transfer) {
      try {
        const result = await commands[name](args, transfer);
        onEnd(null);
        return result;
      } catch (error) {
        if (error instanceof AppError) onEnd({ code: error.code, message: error.message });
        throw error;
      }
    },
  });
}
