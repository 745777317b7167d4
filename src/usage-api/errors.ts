import { AppError, type AppErrorOptions } from '../core/errors.ts';

/** The four endpoints of the API specification, by their names in errors. */
export type EndpointLabel = 'create dashboard' | 'generate embed token' | 'workspace usage' | 'tenant usage';

export interface ApiErrorOptions extends AppErrorOptions {
  endpoint: EndpointLabel;
  status?: number | null;
  serverMessage?: string | null;
}

/** The base class of all errors of the service and its connection. Catch it to catch them all, except cancellation. */
export class ApiError extends AppError {
  readonly endpoint: EndpointLabel;
  /** HTTP status; null without a response, or when a body was checked without its response. */
  readonly status: number | null;
  /** The envelope's `message`: one line, at most 300 characters, secrets removed; null if there was none. */
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
      hint: 'correct the request: the message of the service names the problem',
      ...options,
    });
  }
}

export interface UnauthorizedErrorOptions extends ApiErrorOptions {
  clockSkewMs: number | null;
}

/** 401. */
export class UnauthorizedError extends ApiError {
  /** Local clock minus the service's Date header, in milliseconds; null if the service sent none. */
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
      hint: 'check the workspace id and the permissions of the API key: the service knows the key but denied the request',
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

/** 429, and any retryable status with a Retry-After longer than the client's own limit. */
export class RateLimitedError extends ApiError {
  /** Milliseconds that the service asked the client to wait; null if it did not. */
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

/** No complete response: refused, reset, unresolvable, cut off. */
export class NetworkError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('network', message, { retryable: true, ...options });
  }
}

/** No complete response in time. */
export class TimeoutError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('timeout', message, { retryable: true, ...options });
  }
}

/**
 * A response that does not match the API specification: not JSON, too long, a missing or wrong field, `success: false`.
 */
export class InvalidResponseError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('invalid_response', message, {
      retryable: true,
      hint: 'report this to the service operator: the response does not match the API specification, and nothing was recorded',
      ...options,
    });
  }
}

/** 3xx. Redirects are never followed: they would send the signature to another place. */
export class RedirectedError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('redirected', message, { hint: 'set the service address to the final URL', ...options });
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

const MIN_REPORTED_SKEW_MS = 60_000;

function unauthorizedHint(clockSkewMs: number | null): string {
  const skew = Math.abs(clockSkewMs ?? 0);
  if (clockSkewMs === null || skew <= MIN_REPORTED_SKEW_MS) {
    return 'check api_key_id, secret_key, the workspace id and the signing settings';
  }
  const amount = skew < 120_000 ? `${Math.round(skew / 1000)} s` : `${Math.round(skew / 60_000)} min`;
  const side = clockSkewMs < 0 ? 'behind' : 'ahead of';
  return `set this machine's clock: it is ${amount} ${side} the service's, so signatures look expired or premature`;
}
