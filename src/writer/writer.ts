import type { ChannelRoute } from '../alerts/track/routes.ts';
import { AppError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import type { Args, CommandName, Result } from './commands/command-table.ts';

/** What a writer needs to open the ledger. */
export interface WriterStart {
  path: string;
  /** Version of this program, written beside each migration. */
  version: string;
  nowMs: number;
  /** What a ledger that is made now is called; by chance when absent. */
  newLedgerId?: string;
  /** What must not stand in any error, though the service may send it. */
  secrets?: readonly string[];
  /** Where the key lies that signs checkpoints; beside the ledger when it is absent. */
  checkpointKeyFile?: string | undefined;
  /** The channels of this process, by which it tells. */
  routes?: readonly ChannelRoute[];
  /** The group that may read the ledger; none but its user when absent. */
  readerGroup?: string | undefined;
}

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
  /** Carries out one command, see `commands/`. Buffers in `transfer` are given away, not copied. */
  call<Name extends CommandName>(
    name: Name,
    args: Args<Name>,
    transfer?: readonly ArrayBuffer[],
  ): Promise<Result<Name>>;
  /** Finishes the commands given so far and closes the ledger; later ones end with `writer_closed`. May be called twice. */
  close(): Promise<void>;
}

/** What a command is told that comes after `close`. */
export function closedError(): AppError {
  return new AppError('writer_closed', "the ledger's writer is closed");
}
