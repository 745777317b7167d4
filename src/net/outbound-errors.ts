import { AppError, type AppErrorOptions, systemFault } from '../core/errors.ts';
import { connectionFault, errorCode, isRequestDefect } from './connection-faults.ts';

interface OutboundErrorOptions extends AppErrorOptions {
  neverSent: boolean;
}

/** A request without a complete response. Its message quotes neither headers nor bodies, which may hold secrets. */
export class OutboundError extends AppError {
  /** True if it is certain that the server did not get the request. */
  readonly neverSent: boolean;

  constructor(code: string, message: string, { neverSent, ...options }: OutboundErrorOptions) {
    super(code, message, options);
    this.neverSent = neverSent;
  }
}

/** Returns the message with the remedy, on one line. */
export function reasonOf({ message, hint }: AppError): string {
  return hint === undefined ? message : `${message}; ${hint}`;
}

/** A server that could not be reached, or a connection that failed before the response was complete. */
export class UnreachableError extends OutboundError {
  /** True if the certificate of the server was rejected. */
  readonly isUntrusted: boolean;

  constructor(message: string, options: { hint: string | undefined; neverSent: boolean; isUntrusted?: boolean }) {
    const { hint, neverSent, isUntrusted = false } = options;
    super('unreachable', message, { retryable: true, hint, neverSent });
    this.isUntrusted = isUntrusted;
  }
}

/** No complete response within the time of a request. */
export class DeadlineError extends OutboundError {
  constructor(timeoutMs: number) {
    super('timeout', describeTimeout(timeoutMs), { retryable: true, neverSent: false });
  }
}

/** A request that cannot be built: the same request would fail again. */
export class InvalidHttpRequestError extends OutboundError {
  constructor(code: string) {
    super('invalid_http_request', `the request cannot be built (${code})`, {
      hint: 'check the address and the credentials for characters that HTTP does not allow',
      neverSent: true,
    });
  }
}

export function describeTimeout(timeoutMs: number): string {
  return `no complete response within ${timeoutMs} ms`;
}

export function unreachableError(code: string): UnreachableError {
  const { text, remedy, neverSent, isUntrusted } = connectionFault(code);
  return new UnreachableError(`the connection failed: ${text}`, { hint: remedy, neverSent, isUntrusted });
}

/**
 * Converts an error of undici, Node or a stream into an OutboundError, which shows only its code. A full disk and other
 * faults of this machine become their AppError. Returns an AppError unchanged.
 */
export function toOutboundError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const code = errorCode(thrown) ?? 'unknown';
  if (isRequestDefect(code)) return new InvalidHttpRequestError(code);
  return (isRefusedConnect(thrown) ? null : systemFault(thrown)) ?? unreachableError(code);
}

/** Reports a connection that a firewall of this machine forbids: EACCES and EPERM then say nothing about files. */
function isRefusedConnect(thrown: unknown): boolean {
  return thrown instanceof Error && 'syscall' in thrown && thrown.syscall === 'connect';
}
