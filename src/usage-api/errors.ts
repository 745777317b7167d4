import { AppError, type AppErrorOptions } from '../core/errors.ts';

/** The four endpoints of the API specification, by their names in errors. */
export type EndpointLabel = 'create dashboard' | 'generate embed token' | 'workspace usage' | 'tenant usage';

export interface ApiErrorOptions extends AppErrorOptions {
  endpoint: EndpointLabel;
  status?: number | null;
  serverMessage?: string | null;
}

/** The base class of all errors of the service and its connection, but not of cancellation or an invalid request. */
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

/** The service answered 400, or another 4xx status that has no class of its own here. */
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

/** The service answered 401: it does not accept the API key or the signature. */
export class UnauthorizedError extends ApiError {
  /** Local clock minus the service's Date header, in milliseconds; null if the service sent none. */
  readonly clockSkewMs: number | null;

  constructor(message: string, options: UnauthorizedErrorOptions) {
    super('unauthorized', message, { hint: unauthorizedHint(options.clockSkewMs), ...options });
    this.clockSkewMs = options.clockSkewMs;
  }
}

/** The service answered 403: it knows the API key, but denies the request. */
export class ForbiddenError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('forbidden', message, {
      hint: 'check the workspace id and the permissions of the API key: the service knows the key but denied the request',
      ...options,
    });
  }
}

/** The service answered 404. */
export class NotFoundError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('not_found', message, { hint: 'check the service address and the ids', ...options });
  }
}

export interface RateLimitedErrorOptions extends ApiErrorOptions {
  retryAfterMs: number | null;
}

/** The service answered 429, or another retryable status with a Retry-After longer than `maxRetryAfterMs`. */
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

/** The service answered with a 5xx status. */
export class ServerError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('server_error', message, { retryable: true, ...options });
  }
}

/** No complete response arrived: the host was not found, or the connection was refused, reset or closed early. */
export class NetworkError extends ApiError {
  constructor(message: string, options: ApiErrorOptions) {
    super('network', message, { retryable: true, ...options });
  }
}

/** No complete response arrived in time. */
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

/** The service answered with a 3xx status. Redirects are not followed: another server would receive the signature. */
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

/** The client refused a call before it sent anything, because of an empty id, a page below 1 or an unusable address. */
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
