import { AppError } from '../../core/errors.ts';
import { isClosedByUs, isConnectTimeout, isRequestDefect } from '../../net/connection-faults.ts';
import { unreachableError } from '../../net/outbound-errors.ts';
import { ProxyRefusedError } from '../../net/proxy-refusal.ts';
import { type BodyDescription, describeBody, type ResponseFacts } from '../answers/unexpected-body.ts';
import {
  type ApiError,
  BadRequestError,
  type EndpointLabel,
  ForbiddenError,
  InvalidResponseError,
  NetworkError,
  NotFoundError,
  RateLimitedError,
  RedirectedError,
  ServerError,
  TimeoutError,
  UnauthorizedError,
} from '../errors.ts';

/** Signals the end of one attempt, like an AbortSignal but at a tenth of its cost. */
export class Attempt {
  /** Why the attempt ended; null while it continues. */
  reason: Error | null = null;
  #listeners: ((reason: Error) => void)[] = [];

  end(reason: Error): void {
    if (this.reason !== null) return;
    this.reason = reason;
    for (const listener of this.#listeners) listener(reason);
    this.#listeners = [];
  }

  /** Calls the listener when the attempt ends, or at once if it has ended. */
  whenEnded(listener: (reason: Error) => void): void {
    if (this.reason !== null) listener(this.reason);
    else this.#listeners.push(listener);
  }
}

interface Watch {
  listener: () => void;
  cancels: Set<() => void>;
}

const watches = new WeakMap<AbortSignal, Watch>();

/**
 * Calls `cancel` when the signal aborts, or at once if it has aborted. One signal cancels all pages of a walk, so all
 * callers share one listener per signal: adding and removing a listener costs as much as signing a request.
 */
export function watchAbort(signal: AbortSignal, cancel: () => void): void {
  if (signal.aborted) {
    cancel();
    return;
  }
  const known = watches.get(signal);
  if (known !== undefined) {
    known.cancels.add(cancel);
    return;
  }
  const cancels = new Set([cancel]);
  const listener = () => {
    for (const each of cancels) each();
  };
  watches.set(signal, { listener, cancels });
  signal.addEventListener('abort', listener, { once: true });
}

/** Undoes `watchAbort`. When no callback is left, the listener is removed from the signal. */
export function unwatchAbort(signal: AbortSignal, cancel: () => void): void {
  const watch = watches.get(signal);
  if (watch === undefined) return;
  watch.cancels.delete(cancel);
  if (watch.cancels.size > 0) return;
  signal.removeEventListener('abort', watch.listener);
  watches.delete(signal);
}

interface AttemptFailureDetails {
  error: ApiError;
  /** The wait that the service asked for; null if it asked for none. */
  retryAfterMs: number | null;
  /** True if the connection was refused, so that nothing of the request was sent. */
  neverSent: boolean;
}

/** A failed attempt, with the facts that decide whether to retry. Callers of the client get its `error`. */
export class AttemptFailure extends Error {
  readonly details: AttemptFailureDetails;

  constructor(details: AttemptFailureDetails) {
    super(details.error.message);
    this.name = 'AttemptFailure';
    this.details = details;
  }
}

/** Converts an error of undici or the body reader into an AttemptFailure. Returns any other error unchanged. */
export function connectionFailure(thrown: unknown, endpoint: EndpointLabel): unknown {
  if (thrown instanceof BodyFault) return attemptFailure(bodyError(thrown, null, { endpoint }));
  if (thrown instanceof ProxyRefusedError) {
    const { message, hint } = thrown;
    return attemptFailure(new NetworkError(`${endpoint}: ${message}`, { endpoint, cause: thrown, hint }), true);
  }
  if (!(thrown instanceof Error) || thrown instanceof AppError || !('code' in thrown)) return thrown;
  const code = String(thrown.code ?? thrown.name);
  if (isRequestDefect(code)) return thrown;
  if (isClosedByUs(code)) {
    return new AppError('client_closed', `${endpoint}: the client is closed`, { cause: thrown });
  }
  // The parser's error quotes the bytes that it could not parse, and they may repeat secrets of the request.
  const cause = 'data' in thrown ? new Error(code) : thrown;
  const { message, hint } = unreachableError(code);
  const options = { endpoint, cause, hint };
  if (isConnectTimeout(code)) return attemptFailure(new TimeoutError(`${endpoint}: ${message}`, options));
  return attemptFailure(new NetworkError(`${endpoint}: ${message}`, options), code === 'ECONNREFUSED');
}

/** Converts a body fault into an error. `raw` is the undecoded body, which the error may quote; null if unknown. */
export function bodyError(fault: BodyFault, raw: Uint8Array[] | null, response: ResponseFacts): ApiError {
  const { endpoint, status } = response;
  const options = { endpoint, status: status ?? null, cause: fault };
  if (fault.kind === 'cut_off') return new NetworkError(`${endpoint}: ${fault.message}`, options);
  if (fault.kind !== 'not_gzip' || raw === null) {
    return new InvalidResponseError(`${endpoint}: ${fault.message}`, options);
  }
  const { text, hint } = describeBody(Buffer.concat(raw), response);
  return new InvalidResponseError(`${endpoint}: ${fault.message}: ${text}`, { ...options, hint });
}

function attemptFailure(error: ApiError, neverSent = false): AttemptFailure {
  return new AttemptFailure({ error, retryAfterMs: null, neverSent });
}

export interface FailedResponse {
  endpoint: EndpointLabel;
  /** The envelope's message, already cleaned. */
  serverMessage: string | null;
  /** Description of a body that is not an envelope; null for an envelope. */
  body: BodyDescription | null;
  /** Target of a redirect, without secrets. */
  location: string | null;
  retryAfterMs: number | null;
  /** Local clock minus the service's, in milliseconds. */
  clockSkewMs: number | null;
}

/** Converts an HTTP status other than 2xx into an error. */
export function statusError(status: number, answer: FailedResponse): ApiError {
  const { endpoint, serverMessage, body, retryAfterMs, clockSkewMs } = answer;
  const detail = serverMessage ?? body?.text ?? '';
  const message = `${endpoint}: the service answered ${status}${detail === '' ? '' : `: ${detail}`}`;
  // The usual remedy for a status applies only if the API itself responded.
  const hint = body?.isForeign ? { hint: body.hint } : {};
  const options = { endpoint, status, serverMessage, ...hint };
  if (status === 401) return new UnauthorizedError(message, { ...options, clockSkewMs });
  if (status === 403) return new ForbiddenError(message, options);
  if (status === 404) return new NotFoundError(message, options);
  if (status === 429) return new RateLimitedError(message, { ...options, retryAfterMs });
  if (status >= 500) return new ServerError(message, options);
  if (status >= 400) return new BadRequestError(message, options);
  const target = answer.location === null ? 'without a target' : `to ${answer.location}`;
  return new RedirectedError(`${endpoint}: the service redirects (${status}) ${target}; not followed`, options);
}

/** The error for a body that is too long, incomplete or cannot be decoded, although the connection worked. */
export class BodyFault extends Error {
  readonly kind: 'too_long' | 'cut_off' | 'undecodable' | 'not_gzip';

  constructor(kind: BodyFault['kind'], message: string) {
    super(message);
    this.name = 'BodyFault';
    this.kind = kind;
  }
}
