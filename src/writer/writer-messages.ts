import { AppError, type ErrorSummary, summarizeError } from '../core/errors.ts';
import { ledgerErrorOf } from '../ledger/store/file/sqlite-errors.ts';
import type { MigrationReport } from '../ledger/store/schema/migrate.ts';
import type { WriterOps } from './writer-ops.ts';

/** What the thread needs to open the ledger. */
export interface WriterStart {
  path: string;
  /** Version of this program, written beside each migration. */
  version: string;
  nowMs: number;
  /** What must not stand in any error, though the service may send it. */
  secrets?: readonly string[];
  /** Where the key lies that signs checkpoints; beside the ledger when it is absent. */
  checkpointKeyFile?: string | undefined;
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
  const packed: PackedError = summarizeError(ledgerErrorOf(error) ?? error);
  if (error instanceof AppError) {
    if ('retryAfterMs' in error && typeof error.retryAfterMs === 'number') packed.retryAfterMs = error.retryAfterMs;
  } else if (error instanceof Error && error.stack !== undefined) {
    packed.stack = error.stack;
  }
  return packed;
}
