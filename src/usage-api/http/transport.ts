import { setMaxListeners } from 'node:events';
import { type Clock, sleep } from '../../core/clock.ts';
import { jitteredBackoffMs, parseHttpDate, parseRetryAfter } from '../../core/net/retry.ts';
import type { Randomness } from '../../core/randomness.ts';
import type { Redactor } from '../../core/text/redact.ts';
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
  type FailedAnswer,
  statusError,
  unwatchAbort,
  watchAbort,
} from './attempt.ts';
import type { PageLease } from './page-memory.ts';
import type { RequestDispatcher } from './pool.ts';
import { decodeBody, type Received, receive } from './receive.ts';

/** Bytes of a failed answer that are read for its message. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;

export interface TransportOptions {
  retry: RetryPolicy;
  /** Milliseconds for one attempt, from asking for a connection to the last byte. */
  requestTimeoutMs: number;
  /** Decoded bytes. */
  maxBodyBytes: number;
  userAgent: string;
  clock: Clock;
  randomness: Randomness;
  /** Applied to every text of the service that goes into an error. */
  redact: Redactor;
  /** Told how each attempt has ended, by a status or a word such as `timeout`, and how many seconds it took. */
  onAttempt?: ((outcome: string, seconds: number) => void) | undefined;
}

export interface TransportRequest {
  dispatcher: RequestDispatcher;
  /** The headers that sign an attempt; null where the endpoint wants none. */
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

/** A 2xx answer, its body not yet looked at. */
export interface Answer {
  status: number;
  /** The header as it came; null when absent. */
  contentType: string | null;
  /** Decoded, in pieces. */
  body: Uint8Array[];
  /** Our clock when the attempt that succeeded was sent. */
  requestedAtMs: number;
  /** Our clock when its last byte had come. */
  receivedAtMs: number;
  /** The response's Date header; null when absent. */
  serverDateMs: number | null;
}

/**
 * Sends a request until it is answered with 2xx or may not be sent again. This is the only layer that retries HTTP.
 *
 * undici's own retry interceptor is not used: after a body that broke off it asks for the rest with a Range header and
 * joins two answers of a list that may have moved in between, and it clips Retry-After, does not retry timeouts and
 * sleeps through an abort.
 *
 * Throws the ApiError of the last attempt, or CancelledError.
 */
export async function send(
  request: TransportRequest,
  options: TransportOptions,
  { signal, beforeRetry }: SendOptions,
): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await sendOnce(request, options, signal);
    } catch (error) {
      if (!(error instanceof AttemptFailure)) throw error;
      const failed = { ...error.details, repeatable: request.method === 'GET' || error.details.neverSent };
      const waitMs = retryDelayMs(failed, attempt, options.retry, options.randomness.fraction());
      if (waitMs === null) throw finalError(failed, options.retry);
      await waitFor(options.clock, waitMs, request.endpoint, signal);
      await takeTurn(beforeRetry, request.endpoint, signal);
    }
  }
}

async function takeTurn(
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

/** One attempt under its own deadline. Throws AttemptFailure or CancelledError. */
async function sendOnce(
  request: TransportRequest,
  options: TransportOptions,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const { endpoint } = request;
  const attempt = new Attempt();
  const beganMs = options.clock.monotonic();
  const tell = (outcome: string): void => {
    options.onAttempt?.(outcome, (options.clock.monotonic() - beganMs) / 1000);
  };
  const cancel = () => attempt.end(new CancelledError(endpoint, signal?.reason));
  if (signal !== undefined) watchAbort(signal, cancel);
  const cancelTimeout = options.clock.after(options.requestTimeoutMs, () => {
    const error = new TimeoutError(`${endpoint}: no complete answer within ${options.requestTimeoutMs} ms`, {
      endpoint,
    });
    attempt.end(new AttemptFailure({ error, retryAfterMs: null, neverSent: false }));
  });
  try {
    const answer = await exchange(request, options, attempt);
    tell(String(answer.status));
    return answer;
  } catch (error) {
    const failure = attempt.reason ?? connectionFailure(error, endpoint);
    tell(outcomeOf(failure));
    throw failure;
  } finally {
    cancelTimeout();
    if (signal !== undefined) unwatchAbort(signal, cancel);
  }
}

function outcomeOf(failure: unknown): string {
  if (!(failure instanceof AttemptFailure)) return 'cancelled';
  const { status, code } = failure.details.error;
  return status === null || status === undefined ? code : String(status);
}

async function exchange(request: TransportRequest, options: TransportOptions, attempt: Attempt): Promise<Answer> {
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

/** The message of a failed answer, or else what its body is. The status already says what happened, so an unreadable body is no fault. */
async function readFailedBody(
  received: Received,
  response: ResponseFacts,
): Promise<Pick<FailedAnswer, 'serverMessage' | 'body'>> {
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

function headerText({ headers }: Received, name: string): string | null {
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
  /** A longer Retry-After is not waited for here. */
  maxRetryAfterMs: number;
}

interface FailedAttempt {
  error: ApiError;
  retryAfterMs: number | null;
  /** False for a request that is not idempotent, unless it certainly never left this machine. */
  repeatable: boolean;
}

/**
 * Milliseconds to wait before the next attempt; null when there is none. `attempt` counts from 0, `random` is in [0, 1).
 * Half of a backoff is random, so that clients that failed together do not come back together.
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
 * What the caller gets when no further attempt is made: a wait too long for the client becomes a RateLimitedError,
 * whatever the status was, so that the queue can wait it out.
 */
export function finalError(failed: FailedAttempt, policy: RetryPolicy): ApiError {
  const { error, retryAfterMs } = failed;
  const waits = retryAfterMs !== null && retryAfterMs > policy.maxRetryAfterMs && isTransient(error);
  if (!waits || error instanceof RateLimitedError) return error;
  const { endpoint, status, serverMessage, message } = error;
  return new RateLimitedError(message, { endpoint, status, serverMessage, retryAfterMs, cause: error });
}

function isTransient(error: ApiError): boolean {
  if (error instanceof NetworkError || error instanceof TimeoutError) return true;
  const answered = error instanceof RateLimitedError || error instanceof ServerError;
  return answered && error.status !== null && RETRIED_STATUSES.has(error.status);
}

/** Waits; ends at once with CancelledError when the signal aborts. */
async function waitFor(
  clock: Clock,
  ms: number,
  endpoint: EndpointLabel,
  signal: AbortSignal | undefined,
): Promise<void> {
  // One signal may end any number of calls that wait: more than ten listeners are no leak.
  if (signal !== undefined) setMaxListeners(0, signal);
  try {
    await sleep(clock, ms, signal);
  } catch {
    throw new CancelledError(endpoint, signal?.reason);
  }
}
