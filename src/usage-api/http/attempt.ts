import { AppError } from '../../core/errors.ts';
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

/** A cancellation signal for one attempt: a small AbortSignal at a tenth of its cost. */
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
 * Calls `cancel` when the signal aborts, or at once if it has. One signal cancels all pages of a walk, so all watchers
 * of a signal share one listener: adding and removing a listener costs as much as signing a request.
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

/** Undoes `watchAbort`; the last call removes the listener. */
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
  /** True if the connection was refused: not a byte of the request has left this machine. */
  neverSent: boolean;
}

/** A failed attempt, for the retry decision; callers get the `error` inside. */
export class AttemptFailure extends Error {
  readonly details: AttemptFailureDetails;

  constructor(details: AttemptFailureDetails) {
    super(details.error.message);
    this.name = 'AttemptFailure';
    this.details = details;
  }
}

const CLOSED_CODES = new Set(['UND_ERR_CLOSED', 'UND_ERR_DESTROYED']);
const TIMEOUT_CODES = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT']);
/** Errors of undici and Node about their arguments and themselves: defects of this program, not connection faults. */
const DEFECT_CODES = /^(UND_ERR_INVALID_|UND_ERR_NOT_SUPPORTED|ERR_ASSERTION|ERR_INVALID_)/;

/** Descriptions of failed connections by error code, which alerts and `status` show too, with the remedy. */
const CONNECTION_FAULTS: Readonly<Record<string, readonly [problem: string, remedy?: string]>> = {
  ECONNREFUSED: ['connection refused', 'check the address and whether the service runs'],
  ECONNRESET: ['connection reset'],
  ENOTFOUND: ['the host name does not resolve', 'check the address and the name server'],
  EAI_AGAIN: ['the name server does not respond'],
  EHOSTUNREACH: ['no route to the host', 'check the address and the network'],
  ENETUNREACH: ['no route to the host', 'check the address and the network'],
  ERR_SSL_WRONG_VERSION_NUMBER: [
    'the server does not speak TLS',
    'check the address, its port, and any proxy on the way',
  ],
  CERT_HAS_EXPIRED: ["the service's certificate has expired"],
  DEPTH_ZERO_SELF_SIGNED_CERT: [
    'the certificate is self-signed, and it is not in `ca_file`',
    'to trust it, set its file in `ca_file` or NODE_EXTRA_CA_CERTS',
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'the certificate authority is unknown, and it is not in `ca_file`',
    'set the file of a private authority in `ca_file` or NODE_EXTRA_CA_CERTS; for a public one, let the server send its intermediate certificate',
  ],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [
    'the certificate authority is unknown, and it is not in `ca_file`',
    'set the file of a private authority in `ca_file` or NODE_EXTRA_CA_CERTS',
  ],
  SELF_SIGNED_CERT_IN_CHAIN: [
    'the certificate authority is private, and it is not in `ca_file`',
    'to trust it, set its file in `ca_file` or NODE_EXTRA_CA_CERTS',
  ],
  UND_ERR_SOCKET: ['the service closed the connection'],
  UND_ERR_HEADERS_OVERFLOW: ['the response headers are too large', 'report this to the service operator'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['the certificate belongs to another host', 'check the address'],
};

/** Converts an error of undici or the body reader into an AttemptFailure. Returns any other error unchanged. */
export function connectionFailure(thrown: unknown, endpoint: EndpointLabel): unknown {
  if (thrown instanceof BodyFault) return attemptFailure(bodyError(thrown, null, { endpoint }));
  if (thrown instanceof ProxyRefusedError) {
    const { message, hint } = thrown;
    return attemptFailure(new NetworkError(`${endpoint}: ${message}`, { endpoint, cause: thrown, hint }), true);
  }
  if (!(thrown instanceof Error) || thrown instanceof AppError || !('code' in thrown)) return thrown;
  const code = String(thrown.code ?? thrown.name);
  if (DEFECT_CODES.test(code)) return thrown;
  if (CLOSED_CODES.has(code)) {
    return new AppError('client_closed', `${endpoint}: the client is closed`, { cause: thrown });
  }
  // The parser's error quotes the bytes that it could not parse, and they may repeat secrets of the request.
  const cause = 'data' in thrown ? new Error(code) : thrown;
  const [problem, hint] = CONNECTION_FAULTS[code] ?? [];
  const reason = problem === undefined ? code : `${problem} (${code})`;
  const options = { endpoint, cause, hint };
  if (TIMEOUT_CODES.has(code))
    return attemptFailure(new TimeoutError(`${endpoint}: connection timed out (${code})`, options));
  return attemptFailure(
    new NetworkError(`${endpoint}: the connection failed: ${reason}`, options),
    code === 'ECONNREFUSED',
  );
}

/** Converts a body fault into an error, with the response if it is known. */
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
  /** Target of a 3xx, already cleaned. */
  location: string | null;
  retryAfterMs: number | null;
  /** Local clock minus the service's, in milliseconds. */
  clockSkewMs: number | null;
}

/** Converts an HTTP status into an error. No other code does. */
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

/** A body that could not be read although the connection was fine. */
export class BodyFault extends Error {
  readonly kind: 'too_long' | 'cut_off' | 'undecodable' | 'not_gzip';

  constructor(kind: BodyFault['kind'], message: string) {
    super(message);
    this.name = 'BodyFault';
    this.kind = kind;
  }
}
