import { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import type { Args, CommandName, Result, WriterCommands } from './commands.ts';

/**
 * The writing side of the ledger: a method for each of `COMMANDS`. They are carried out one after the other, in the order in
 * which they were given. Arguments and results are copies; an error comes as an AppError with the code, hint and fields that
 * it had, but not of its class: go by `code`. Buffers in `transfer`, a second argument, are given away, not copied.
 */
export interface Writer extends WriterCommands, Omit<CommandPort, 'call'> {}

/** The connection of a writer to the code that executes its commands, in a thread or in this process. */
export interface CommandPort {
  readonly migration: MigrationReport;
  /** Resolves once nothing can be written any more: with null after `close`, else with what ended it. Never rejects. */
  readonly ended: Promise<AppError | null>;
  /** Executes one command. */
  call<Name extends CommandName>(
    name: Name,
    args: Args<Name>,
    transfer?: readonly ArrayBuffer[],
  ): Promise<Result<Name>>;
  /** Finishes the commands given so far and closes the ledger; later ones end with `writer_closed`. May be called twice. */
  close(): Promise<void>;
}

/** Returns a writer whose methods send their commands through `port`. */
export function writerOver(port: CommandPort): Writer {
  const methods: Record<string, unknown> = {
    migration: port.migration,
    ended: port.ended,
    close: () => port.close(),
  };
  // Only the thread loads the table of commands, because it takes long to load: a method is made when it is first used.
  return new Proxy(methods as unknown as Writer, {
    get(_writer, name) {
      // `await` asks for `then`, to learn whether the writer is a promise.
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

/** The disk is to blame, or who may use it. */
export const DISK_FAULTS: readonly string[] = ['ledger_disk', 'ledger_io', 'ledger_unwritable'];

/** The same writer, which tells after each command what the ledger had against it; null: nothing. */
export function noticeFaults(writer: Writer, onEnd: (fault: { code: string; message: string } | null) => void): Writer {
  const commands: WriterCommands = writer;
  return writerOver({
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
