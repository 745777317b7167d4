import { AppError, type ErrorSummary, summarizeError } from '../core/errors.ts';
import type { MigrationReport } from '../ledger/schema/migrate.ts';
import type { WriterOps } from './writer-ops.ts';

/** What the thread needs to open the ledger. */
export interface WriterStart {
  path: string;
  /** Version of this program, written beside each migration. */
  version: string;
  nowMs: number;
}

/** Everything that the thread can be asked for: what it takes and what it gives back. */
type WriterCalls = {
  [Op in keyof WriterOps]: { args: Parameters<WriterOps[Op]>[0]; result: ReturnType<WriterOps[Op]> };
} & {
  /** Comes first. */
  open: { args: WriterStart; result: MigrationReport };
  /** Nothing comes after it. */
  close: { args: undefined; result: null };
};

export type WriterOp = keyof WriterCalls;
export type Args<Op extends WriterOp> = WriterCalls[Op]['args'];
export type Result<Op extends WriterOp> = WriterCalls[Op]['result'];

export type WriterRequest = { [Op in WriterOp]: { id: number; op: Op; args: Args<Op> } }[WriterOp];

/** Answers carry the request's id. */
export type WriterReply = { id: number; result: unknown } | { id: number; error: PackedError };

/** An error as it crosses threads, where classes are lost. */
export interface PackedError extends ErrorSummary {
  retryAfterMs?: number;
  /** Present for errors that are not ours, for the log. */
  stack?: string;
}

/** An error of the writer's thread: same name, code and hint as there. */
export class WriterError extends AppError {
  readonly retryAfterMs: number | undefined;

  constructor(packed: PackedError) {
    super(packed.code, packed.message, { retryable: packed.retryable, hint: packed.hint });
    this.name = packed.name;
    this.retryAfterMs = packed.retryAfterMs;
    if (packed.stack !== undefined) this.stack = packed.stack;
  }
}

export function packError(error: unknown): PackedError {
  const packed: PackedError = summarizeSqlite(error) ?? summarizeError(error);
  if (error instanceof AppError) {
    if ('retryAfterMs' in error && typeof error.retryAfterMs === 'number') packed.retryAfterMs = error.retryAfterMs;
  } else if (error instanceof Error && error.stack !== undefined) {
    packed.stack = error.stack;
  }
  return packed;
}

/** SQLite's own errors, by their result code: which of them pass by themselves and what helps. */
function summarizeSqlite(error: unknown): ErrorSummary | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  const code = String(error.code);
  if (!code.startsWith('SQLITE_')) return null;
  const summary = (name: string, retryable: boolean, hint: string): ErrorSummary => ({
    name: 'LedgerError',
    code: name,
    message: error.message,
    retryable,
    hint,
  });
  if (code.startsWith('SQLITE_BUSY')) {
    return summary('ledger_busy', true, 'another process is writing to the ledger; this is tried again');
  }
  if (code.startsWith('SQLITE_FULL') || code.startsWith('SQLITE_IOERR')) {
    return summary('ledger_disk', true, 'make room on the disk of the ledger; nothing was changed');
  }
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_PERM')) {
    return summary('ledger_unwritable', true, 'give the user that runs usage-ledger the right to write the ledger');
  }
  if (code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB')) {
    return summary('ledger_corrupt', false, 'restore the ledger from a backup');
  }
  if (code === 'SQLITE_CONSTRAINT_DATATYPE') {
    return summary('change_too_large', false, 'a figure changed by more than 2^63-1; nothing was published');
  }
  return null;
}
