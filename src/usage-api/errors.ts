import { AppError, type AppErrorOptions } from '../core/errors.ts';

/** The four endpoints of the interface document, as they are named in errors. */
export type EndpointLabel = 'create dashboard' | 'generate embed token' | 'workspace usage' | 'tenant usage';

export interface ApiErrorOptions extends AppErrorOptions {
  endpoint: EndpointLabel;
  status?: number | null;
  serverMessage?: string | null;
}

/** Whatever went wrong between us and the service. Catch this one to catch them all, cancellation excepted. */
export class ApiError extends AppError {
  readonly endpoint: EndpointLabel;
  /** HTTP status; null when there was no answer, or when a body was checked apart from its response. */
  readonly status: number | null;
  /** The envelope's `message`: one line, at most 300 characters, secrets removed; null when there was none. */
  readonly serverMessage: string | null;

  constructor(code: string, message: string, options: ApiErrorOptions) {
    super(code, message, options);
    this.endpoint = options.endpoint;
    this.status = options.status ?? null;
    this.serverMessage = options.serverMessage ?? null;
  }
}

/** 400 and every other 4xx without a class of its own. */
export class BadRequestError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('bad_request', message, {
      hint: 'the service did not accept the request as it is; its message says why',
      ...options,
    });
  }
}

export interface UnauthorizedErrorOptions extends ApiErrorOptions {
  clockSkewMs: number | null;
}

/** 401. */
export class UnauthorizedError extends ApiError {
  /** Our clock minus the service's Date header, milliseconds; null when the service sent none. */
  readonly clockSkewMs: number | null;

  constructor(message: string, options: UnauthorizedErrorOptions) {
    super('unauthorized', message, { hint: unauthorizedHint(options.clockSkewMs), ...options });
    this.clockSkewMs = options.clockSkewMs;
  }
}

/** 403. */
export class ForbiddenError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('forbidden', message, {
      hint: 'the API key is known but may not do this: check the workspace id and what the key is allowed to',
      ...options,
    });
  }
}

/** 404. */
export class NotFoundError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('not_found', message, { hint: 'check the service address and the ids', ...options });
  }
}

export interface RateLimitedErrorOptions extends ApiErrorOptions {
  retryAfterMs: number | null;
}

/** 429, and any retryable status whose Retry-After is longer than the client itself waits. */
export class RateLimitedError extends ApiError {
  /** How long the service asked us to stay away, milliseconds; null when it did not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, options: RateLimitedErrorOptions) {
    super('rate_limited', message, {
      retryable: true,
      hint: 'lower requests_per_second or concurrency if this persists',
      ...options,
    });
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** 5xx. */
export class ServerError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('server_error', message, { retryable: true, ...options });
  }
}

/** No complete answer: refused, reset, unresolvable, cut off. */
export class NetworkError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('network', message, { retryable: true, ...options });
  }
}

/** No complete answer in time. */
export class TimeoutError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('timeout', message, { retryable: true, ...options });
  }
}

/** An answer that breaks the interface: not JSON, too long, a field missing or of the wrong kind, `success: false`. */
export class InvalidResponseError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('invalid_response', message, {
      retryable: true,
      hint: 'the service answers otherwise than its interface says, and nothing of it was recorded: tell who runs the service',
      ...options,
    });
  }
}

/** 3xx. Redirects are never followed: they would carry the signature to wherever they point. */
export class RedirectedError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('redirected', message, { hint: 'set the service address to its final place', ...options });
  }
}

/** The caller's AbortSignal ended the call. */
export class CancelledError extends AppError {
  constructor(endpoint: EndpointLabel, cause: unknown) {
    super('cancelled', `${endpoint}: cancelled`, { cause });
  }
}

/** A call refused before anything was sent: an empty id, a page below 1, plain http to another machine. */
export class InvalidRequestError extends AppError {
  constructor(message: string, hint: string) {
    super('invalid_request', message, { hint });
  }
}

const NOTABLE_SKEW_MS = 60_000;

function unauthorizedHint(clockSkewMs: number | null): string {
  const skew = Math.abs(clockSkewMs ?? 0);
  if (clockSkewMs === null || skew <= NOTABLE_SKEW_MS) {
    return 'check api_key_id, secret_key, the workspace id and the signing settings';
  }
  const amount = skew < 120_000 ? `${Math.round(skew / 1000)} s` : `${Math.round(skew / 60_000)} min`;
  const side = clockSkewMs < 0 ? 'behind' : 'ahead of';
  return `this machine's clock is ${amount} ${side} the service's, so signatures look expired or premature: set it right`;
}
