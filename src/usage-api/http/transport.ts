import { setMaxListeners } from 'node:events';
import { jitteredBackoffMs } from '../../core/backoff.ts';
import { type Clock, sleep } from '../../core/clock.ts';
import type { Randomness } from '../../core/randomness.ts';
import type { Redactor } from '../../core/text/redact.ts';
import type { RequestDispatcher } from '../../net/dispatcher.ts';
import { describeTimeout } from '../../net/outbound-errors.ts';
import { parseHttpDate, parseRetryAfter } from '../../net/retry-after.ts';
import { describeLocation, envelopeMessage, isEnvelope } from '../answers/server-text.ts';
import { describeBody, describeJson, type ResponseFacts } from '../answers/unexpected-body.ts';
import {
  type ApiError,
  CancelledError,
  type EndpointLabel,
  NetworkError,
  RateLimitedError,
  ServerError,
  TimeoutError,
} from '../errors.ts';
import type { SignedHeaders, SignedRequest } from '../sign.ts';
import {
  Attempt,
  AttemptFailure,
  BodyFault,
  bodyError,
  connectionFailure,
  type FailedResponse,
  statusError,
  unwatchAbort,
  watchAbort,
} from './attempt.ts';
import type { PageLease } from './page-memory.ts';
import { decodeBody, type RawResponse, receive } from './receive.ts';

/** At most this many bytes of a response other than 2xx are read, to find its message. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;

export interface TransportOptions {
  retry: RetryPolicy;
  /** Milliseconds for one attempt, from requesting a connection to the last byte. */
  requestTimeoutMs: number;
  /** Maximum of decoded bytes in a response. */
  maxBodyBytes: number;
  userAgent: string;
  clock: Clock;
  randomness: Randomness;
  /** Removes secrets from the service's texts in errors. */
  redact: Redactor;
  /** Called after each attempt with its status, or a word such as `timeout`, and its duration in seconds. */
  onAttempt?: ((outcome: string, seconds: number) => void) | undefined;
}

export interface TransportRequest {
  dispatcher: RequestDispatcher;
  /** Returns the headers that sign an attempt; null if the endpoint has no signature. */
  sign: ((request: SignedRequest) => SignedHeaders) | null;
  endpoint: EndpointLabel;
  method: 'GET' | 'POST';
  path: string;
  /** JSON text of a POST; never part of an error. */
  body?: string;
  lease?: PageLease | null;
}

export interface SendOptions {
  signal?: AbortSignal | undefined;
  beforeRetry?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** A 2xx response with an unparsed body. */
export interface ApiResponse {
  status: number;
  /** The Content-Type header; null if absent. */
  contentType: string | null;
  /** The decoded body, in chunks. */
  body: Uint8Array[];
  /** Local time at which the successful attempt was sent. */
  requestedAtMs: number;
  /** Local time at which the last byte arrived. */
  receivedAtMs: number;
  /** Time of the Date header; null if absent. */
  serverDateMs: number | null;
}

/**
 * Sends a request until the response is 2xx or no retry is allowed. This is the only layer that retries HTTP.
 *
 * undici's own retry interceptor is not used: when a body breaks off it requests the rest with a Range header, which
 * joins two responses of a listing that may have changed in between. It also clips Retry-After, does not retry timeouts
 * and sleeps through an abort.
 *
 * Throws the ApiError of the last attempt, or CancelledError.
 */
export async function sendRequest(
  request: TransportRequest,
  options: TransportOptions,
  { signal, beforeRetry }: SendOptions,
): Promise<ApiResponse> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await sendOnce(request, options, signal);
    } catch (error) {
      if (!(error instanceof AttemptFailure)) throw error;
      const failed = { ...error.details, repeatable: request.method === 'GET' || error.details.neverSent };
      const waitMs = retryDelayMs(failed, attempt, options.retry, options.randomness.fraction());
      if (waitMs === null) throw finalError(failed, options.retry);
      await waitForRetry(options.clock, waitMs, request.endpoint, signal);
      await awaitRetryTurn(beforeRetry, request.endpoint, signal);
    }
  }
}

async function awaitRetryTurn(
  beforeRetry: SendOptions['beforeRetry'],
  endpoint: EndpointLabel,
  signal = new AbortController().signal,
): Promise<void> {
  try {
    await beforeRetry?.(signal);
  } catch (error) {
    throw new CancelledError(endpoint, error);
  }
}

/** Sends the request once, with a time limit. Throws AttemptFailure or CancelledError. */
async function sendOnce(
  request: TransportRequest,
  options: TransportOptions,
  signal: AbortSignal | undefined,
): Promise<ApiResponse> {
  const { endpoint } = request;
  const attempt = new Attempt();
  const beganMs = options.clock.monotonic();
  const report = (outcome: string): void => {
    options.onAttempt?.(outcome, (options.clock.monotonic() - beganMs) / 1000);
  };
  const cancel = () => attempt.end(new CancelledError(endpoint, signal?.reason));
  if (signal !== undefined) watchAbort(signal, cancel);
  const cancelTimeout = options.clock.after(options.requestTimeoutMs, () => {
    const error = new TimeoutError(`${endpoint}: ${describeTimeout(options.requestTimeoutMs)}`, {
      endpoint,
    });
    attempt.end(new AttemptFailure({ error, retryAfterMs: null, neverSent: false }));
  });
  try {
    const response = await exchange(request, options, attempt);
    report(String(response.status));
    return response;
  } catch (error) {
    const failure = attempt.reason ?? connectionFailure(error, endpoint);
    report(requestOutcomeOf(failure));
    throw failure;
  } finally {
    cancelTimeout();
    if (signal !== undefined) unwatchAbort(signal, cancel);
  }
}

function requestOutcomeOf(failure: unknown): string {
  if (!(failure instanceof AttemptFailure)) return 'cancelled';
  const { status, code } = failure.details.error;
  return status === null || status === undefined ? code : String(status);
}

async function exchange(request: TransportRequest, options: TransportOptions, attempt: Attempt): Promise<ApiResponse> {
  const { dispatcher, sign, endpoint, method, path, body, lease = null } = request;
  const { clock, userAgent, maxBodyBytes } = options;
  const headers: Record<string, string> = {
    accept: 'application/json',
    'accept-encoding': 'gzip',
    'user-agent': userAgent,
    ...sign?.({ method, path, body }),
  };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const requestedAtMs = clock.now();
  const limits = { success: maxBodyBytes, failure: MAX_ERROR_BODY_BYTES };
  const received = await receive(dispatcher, { method, path, headers, body: body ?? null }, attempt, limits, lease);
  const receivedAtMs = clock.now();
  const { status } = received;
  const serverDateMs = parseHttpDate(headerText(received, 'date') ?? '');
  const encoding = headerText(received, 'content-encoding');
  const contentType = headerText(received, 'content-type');
  if (status >= 200 && status < 300 && received.body !== null) {
    try {
      const decoded = await decodeBody(received.body, encoding, maxBodyBytes, lease);
      return { status, contentType, body: decoded, requestedAtMs, receivedAtMs, serverDateMs };
    } catch (error) {
      if (!(error instanceof BodyFault)) throw error;
      const response = { endpoint, status, contentType, redact: options.redact };
      const failure = bodyError(error, received.body, response);
      throw new AttemptFailure({ error: failure, retryAfterMs: null, neverSent: false });
    }
  }
  const retryAfterMs = parseRetryAfter(headerText(received, 'retry-after'), serverDateMs ?? receivedAtMs);
  const location = headerText(received, 'location');
  const error = statusError(status, {
    endpoint,
    ...(await readFailedBody(received, { endpoint, contentType, redact: options.redact })),
    location: location === null ? null : describeLocation(location, options.redact),
    retryAfterMs,
    clockSkewMs: serverDateMs === null ? null : receivedAtMs - serverDateMs,
  });
  throw new AttemptFailure({ error, retryAfterMs, neverSent: false });
}

/**
 * Returns the message of a response other than 2xx, or a description of its body if there is no message. An unreadable
 * body is ignored, because the status alone is enough for an error.
 */
async function readFailedBody(
  received: RawResponse,
  response: ResponseFacts,
): Promise<Pick<FailedResponse, 'serverMessage' | 'body'>> {
  const { status, body } = received;
  if (body === null || (status >= 300 && status < 400)) return { serverMessage: null, body: null };
  try {
    const encoding = headerText(received, 'content-encoding');
    const decoded = Buffer.concat(await decodeBody(body, encoding, MAX_ERROR_BODY_BYTES));
    const value = parseOrUndefined(decoded);
    if (value === undefined) return { serverMessage: null, body: describeBody(decoded, response, status) };
    const serverMessage = envelopeMessage(value, response.redact);
    const isKnown = serverMessage !== null || isEnvelope(value);
    return { serverMessage, body: isKnown ? null : describeJson(value, response) };
  } catch (error) {
    if (!(error instanceof BodyFault)) throw error;
    return { serverMessage: null, body: null };
  }
}

function parseOrUndefined(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

function headerText({ headers }: RawResponse, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** Exponential backoff never waits longer than this. */
const MAX_BACKOFF_MS = 8_000;
const RETRIED_STATUSES = new Set([429, 500, 502, 503, 504]);

interface RetryPolicy {
  /** Attempts after the first one. */
  retries: number;
  /** The first backoff; each further one is twice as long, up to 8 s. */
  baseMs: number;
  /** If the service asks for a longer wait, RateLimitedError is thrown at once. */
  maxRetryAfterMs: number;
}

interface FailedAttempt {
  error: ApiError;
  retryAfterMs: number | null;
  /** False if the request is not idempotent and may have been sent. */
  repeatable: boolean;
}

/**
 * Returns the milliseconds until the next attempt, or null if the request is not retried. `attempt` counts from 0,
 * `random` is in [0, 1). Half of a backoff is random, so that clients that failed together do not retry together.
 */
export function retryDelayMs(
  failed: FailedAttempt,
  attempt: number,
  policy: RetryPolicy,
  random: number,
): number | null {
  if (!failed.repeatable || attempt >= policy.retries || !isTransient(failed.error)) return null;
  const jitteredMs = jitteredBackoffMs(attempt, { baseMs: policy.baseMs, maxMs: MAX_BACKOFF_MS }, random);
  if (failed.retryAfterMs === null) return jitteredMs;
  return failed.retryAfterMs > policy.maxRetryAfterMs ? null : Math.max(failed.retryAfterMs, jitteredMs);
}

/**
 * Returns the error for the caller when the request is not retried. If the service asks for a longer wait than the
 * client allows, the error is a RateLimitedError for any status, so that the queue can wait instead.
 */
export function finalError(failed: FailedAttempt, policy: RetryPolicy): ApiError {
  const { error, retryAfterMs } = failed;
  const isTooLongToWait = retryAfterMs !== null && retryAfterMs > policy.maxRetryAfterMs && isTransient(error);
  if (!isTooLongToWait || error instanceof RateLimitedError) return error;
  const { endpoint, status, serverMessage, message } = error;
  return new RateLimitedError(message, { endpoint, status, serverMessage, retryAfterMs, cause: error });
}

function isTransient(error: ApiError): boolean {
  if (error instanceof NetworkError || error instanceof TimeoutError) return true;
  const isStatusError = error instanceof RateLimitedError || error instanceof ServerError;
  return isStatusError && error.status !== null && RETRIED_STATUSES.has(error.status);
}

/** Waits for the given time. Throws CancelledError when the signal aborts. */
async function waitForRetry(
  clock: Clock,
  ms: number,
  endpoint: EndpointLabel,
  signal: AbortSignal | undefined,
): Promise<void> {
  // One signal may cancel any number of waiting calls. Without this, Node warns of a leak at more than ten listeners.
  if (signal !== undefined) setMaxListeners(0, signal);
  try {
    await sleep(clock, ms, signal);
  } catch {
    throw new CancelledError(endpoint, signal?.reason);
  }
}
