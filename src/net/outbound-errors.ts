import { AppError, type AppErrorOptions, systemFault } from '../core/errors.ts';
import { connectionFault, errorCode, isRequestDefect } from './connection-faults.ts';

interface OutboundErrorOptions extends AppErrorOptions {
  neverSent: boolean;
}

/**
 * The error for a request without a complete response. The message quotes no headers and no bodies, because they may
 * contain secrets.
 */
export class OutboundError extends AppError {
  /** True if it is certain that the server did not get the request. */
  readonly neverSent: boolean;

  constructor(code: string, message: string, { neverSent, ...options }: OutboundErrorOptions) {
    super(code, message, options);
    this.neverSent = neverSent;
  }
}

/** Returns the message of the error and the remedy, on one line. */
export function reasonOf({ message, hint }: AppError): string {
  return hint === undefined ? message : `${message}; ${hint}`;
}

/**
 * The error for a server that could not be reached, or for a connection that failed before the response was complete.
 */
export class UnreachableError extends OutboundError {
  /** True if the certificate of the server was rejected. */
  readonly isUntrusted: boolean;

  constructor(message: string, options: { hint: string | undefined; neverSent: boolean; isUntrusted?: boolean }) {
    const { hint, neverSent, isUntrusted = false } = options;
    super('unreachable', message, { retryable: true, hint, neverSent });
    this.isUntrusted = isUntrusted;
  }
}

/** The error for a request without a complete response within its time limit. */
export class DeadlineError extends OutboundError {
  constructor(timeoutMs: number) {
    super('timeout', describeTimeout(timeoutMs), { retryable: true, neverSent: false });
  }
}

/** The error for a request that cannot be built. The same request would always fail again. */
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
 * Converts an error of undici, Node or a stream into an OutboundError, whose message contains the original code but not
 * the original message. A fault of this machine, such as a full disk, becomes an AppError of its own. Returns an
 * AppError unchanged.
 */
export function toOutboundError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const code = errorCode(thrown) ?? 'unknown';
  if (isRequestDefect(code)) return new InvalidHttpRequestError(code);
  return (isRefusedConnect(thrown) ? null : systemFault(thrown)) ?? unreachableError(code);
}

/**
 * Reports whether opening a connection failed. If a firewall of this machine forbids the connection, the codes EACCES
 * and EPERM would otherwise be taken for missing permissions for a file.
 */
function isRefusedConnect(thrown: unknown): boolean {
  return thrown instanceof Error && 'syscall' in thrown && thrown.syscall === 'connect';
}
