import type { PackedError } from '../core/crossing-errors.ts';
import type { Args, CommandName } from './commands/command-table.ts';
import type { WriterStart } from './writer.ts';

/** What the thread is asked for: first to open the ledger, then commands, and last to close it. */
export type WriterRequest = { id: number } & (
  | { op: 'open'; args: WriterStart }
  | { [Name in CommandName]: { op: Name; args: Args<Name> } }[CommandName]
  | { op: 'close'; args: null }
);

/** Answers carry the request's id. */
export type WriterReply = { id: number; result: unknown } | { id: number; error: PackedError };
