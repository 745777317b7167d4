import { AppError, type ErrorSummary, summarizeError } from './errors.ts';

/**
 * An error as it crosses to another thread or process. Classes are lost on the way, so whoever receives one goes by its
 * `code`, and by the fields of its class, which cross by their names.
 */
export interface PackedError extends ErrorSummary {
  /** The fields that its class has beyond those of every AppError, such as `retryAfterMs`. */
  details?: Record<string, unknown>;
  /** Of errors that are not ours, for the log. */
  stack?: string;
}

export function packError(thrown: unknown): PackedError {
  const packed: PackedError = summarizeError(thrown);
  if (thrown instanceof AppError) {
    const { name, code, retryable, hint, ...details } = thrown;
    if (Object.keys(details).length > 0) packed.details = details;
  } else if (packed.code === 'internal' && thrown instanceof Error && thrown.stack !== undefined) {
    packed.stack = thrown.stack;
  }
  return packed;
}

/** The error as it is thrown on this side. */
export function unpackError({ name, code, message, retryable, hint, details, stack }: PackedError): AppError {
  const error = Object.assign(new AppError(code, message, { retryable, hint }), details, { name });
  if (stack !== undefined) error.stack = stack;
  return error;
}
