import { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import type { Args, CommandName, Result, WriterCommands } from './commands.ts';

/**
 * Changes the ledger: it has a method for each of `WRITER_COMMANDS`. Commands run one after the other, in call order.
 * Arguments and results are copies, but the buffers in the second argument, `transfer`, are moved. An error arrives as
 * an AppError with its code, hint and fields, but without its class, so compare `code`.
 */
export interface Writer extends WriterCommands, Omit<CommandPort, 'call'> {}

/** Connects a writer to the code that executes its commands, on another thread or in this one. */
export interface CommandPort {
  readonly migration: MigrationReport;
  /**
   * Resolves once writing is no longer possible: with null after `close`, otherwise with the error that ended the
   * writer. Never rejects.
   */
  readonly ended: Promise<AppError | null>;
  /** Executes one command. */
  call<Name extends CommandName>(
    name: Name,
    args: Args<Name>,
    transfer?: readonly ArrayBuffer[],
  ): Promise<Result<Name>>;
  /**
   * Finishes the commands called so far and closes the ledger. Later commands fail with `writer_closed`. May be called
   * twice.
   */
  close(): Promise<void>;
}

/** Creates a writer that executes its commands through `port`. */
export function createWriter(port: CommandPort): Writer {
  const methods: Record<string, unknown> = {
    migration: port.migration,
    ended: port.ended,
    close: () => port.close(),
  };
  // Each method is made on first use: listing the methods would load the table of commands, which takes long.
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

export function writerClosedError(): AppError {
  return new AppError('writer_closed', "the ledger's writer is closed");
}

/** Codes of errors that the disk or its permissions cause. */
export const DISK_FAULT_CODES: readonly string[] = ['ledger_disk', 'ledger_io', 'ledger_unwritable'];

/** Returns a writer that calls `onEnd` after each command, with the command's error or null. */
export function withFaultReport(
  writer: Writer,
  onEnd: (fault: { code: string; message: string } | null) => void,
): Writer {
  const commands: WriterCommands = writer;
  return createWriter({
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
