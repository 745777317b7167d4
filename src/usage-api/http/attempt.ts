import { AppError } from '../../core/errors.ts';
import { ProxyRefusedError } from '../../core/net/proxy-refusal.ts';
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

/** What ends one attempt early: an AbortSignal in small, at a tenth of its cost. */
export class Attempt {
  /** Null while it goes on. */
  reason: Error | null = null;
  #listeners: ((reason: Error) => void)[] = [];

  end(reason: Error): void {
    if (this.reason !== null) return;
    this.reason = reason;
    for (const listener of this.#listeners) listener(reason);
    this.#listeners = [];
  }

  /** Calls the listener once the attempt is ended, at once when it is already. */
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
 * Calls `cancel` when the signal aborts, at once when it has. One signal ends all pages of a walk, so all that wait for
 * one share a listener: adding and removing one costs as much as signing a request.
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

/** Ends what `watchAbort` began; the last one takes the listener away. */
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
  /** What the service asked for; null when it did not. */
  retryAfterMs: number | null;
  /** The connection was refused: not a byte of the request has left this machine. */
  neverSent: boolean;
}

/** How one attempt ended, on its way to the retry decision; callers get the `error` inside. */
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
/** What undici and Node raise about their arguments and themselves: defects here, not faults of a connection. */
const DEFECT_CODES = /^(UND_ERR_INVALID_|UND_ERR_NOT_SUPPORTED|ERR_ASSERTION|ERR_INVALID_)/;

/** By the code of a failed connection: what is so, which alerts and `status` say, too, and what to do. */
const CONNECTION_FAULTS: Readonly<Record<string, readonly [words: string, remedy?: string]>> = {
  ECONNREFUSED: ['nothing listens there', 'check the address and whether the service runs'],
  ECONNRESET: ['it was broken off'],
  ENOTFOUND: ['the host name does not resolve', 'check the address and the name server'],
  EAI_AGAIN: ['the name server does not answer'],
  EHOSTUNREACH: ['no route leads there', 'check the address and the network'],
  ENETUNREACH: ['no route leads there', 'check the address and the network'],
  ERR_SSL_WRONG_VERSION_NUMBER: ['no TLS is spoken there', 'check the address, its port, and a proxy on the way'],
  CERT_HAS_EXPIRED: ["the service's certificate has expired"],
  DEPTH_ZERO_SELF_SIGNED_CERT: [
    'the certificate is self-signed, and no `ca_file` names it',
    'name it in `ca_file` or NODE_EXTRA_CA_CERTS to trust it',
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'the authority of the certificate is not known here, and no `ca_file` names it',
    'name the file of a private one in `ca_file` or NODE_EXTRA_CA_CERTS; a public one is left out by the server',
  ],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [
    'the authority of the certificate is not known here, and no `ca_file` names it',
    'name the file of a private one in `ca_file` or NODE_EXTRA_CA_CERTS',
  ],
  SELF_SIGNED_CERT_IN_CHAIN: [
    'the certificate chain is private, and no `ca_file` names its authority',
    'name its authority in `ca_file` or NODE_EXTRA_CA_CERTS to trust it',
  ],
  UND_ERR_SOCKET: ['the service closed it'],
  UND_ERR_HEADERS_OVERFLOW: ['the answer has more headers than are read', 'tell who runs the service'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['the certificate belongs to another host', 'check the address'],
};

/** Turns what undici and the body reader throw into ours; anything that is no fault of a connection stays as it is. */
export function connectionFailure(thrown: unknown, endpoint: EndpointLabel): unknown {
  if (thrown instanceof BodyFault) return failure(bodyError(thrown, null, { endpoint }));
  if (thrown instanceof ProxyRefusedError) {
    const { message, hint } = thrown;
    return failure(new NetworkError(`${endpoint}: ${message}`, { endpoint, cause: thrown, hint }), true);
  }
  if (!(thrown instanceof Error) || thrown instanceof AppError || !('code' in thrown)) return thrown;
  const code = String(thrown.code ?? thrown.name);
  if (DEFECT_CODES.test(code)) return thrown;
  if (CLOSED_CODES.has(code)) {
    return new AppError('client_closed', `${endpoint}: the client is closed`, { cause: thrown });
  }
  // What could not be parsed is quoted by the parser's error, and it may repeat what was sent.
  const cause = 'data' in thrown ? new Error(code) : thrown;
  const [words, hint] = CONNECTION_FAULTS[code] ?? [];
  const why = words === undefined ? code : `${words} (${code})`;
  const options = { endpoint, cause, hint };
  if (TIMEOUT_CODES.has(code))
    return failure(new TimeoutError(`${endpoint}: no connection in time (${code})`, options));
  return failure(new NetworkError(`${endpoint}: the connection failed: ${why}`, options), code === 'ECONNREFUSED');
}

/** Why the body of an answer could not be read, with the response that it came with where that is known. */
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

function failure(error: ApiError, neverSent = false): AttemptFailure {
  return new AttemptFailure({ error, retryAfterMs: null, neverSent });
}

export interface FailedAnswer {
  endpoint: EndpointLabel;
  /** The envelope's message, already cleaned. */
  serverMessage: string | null;
  /** What the body is where it is not an envelope. */
  body: BodyDescription | null;
  /** Where a 3xx points to, already cleaned. */
  location: string | null;
  retryAfterMs: number | null;
  /** Our clock minus the service's, milliseconds. */
  clockSkewMs: number | null;
}

/** The one place that turns an HTTP status into an error class. */
export function statusError(status: number, answer: FailedAnswer): ApiError {
  const { endpoint, serverMessage, body, retryAfterMs, clockSkewMs } = answer;
  const detail = serverMessage ?? body?.text ?? '';
  const message = `${endpoint}: the service answered ${status}${detail === '' ? '' : `: ${detail}`}`;
  // The usual remedy for a status counts where the API itself answers.
  const hint = body?.isForeign ? { hint: body.hint } : {};
  const options = { endpoint, status, serverMessage, ...hint };
  if (status === 401) return new UnauthorizedError(message, { ...options, clockSkewMs });
  if (status === 403) return new ForbiddenError(message, options);
  if (status === 404) return new NotFoundError(message, options);
  if (status === 429) return new RateLimitedError(message, { ...options, retryAfterMs });
  if (status >= 500) return new ServerError(message, options);
  if (status >= 400) return new BadRequestError(message, options);
  const target = answer.location === null ? 'without saying where to' : `to ${answer.location}`;
  return new RedirectedError(`${endpoint}: the service redirects (${status}) ${target}; not followed`, options);
}

/** Why a body could not be read although the connection was fine. */
export class BodyFault extends Error {
  readonly kind: 'too_long' | 'cut_off' | 'undecodable' | 'not_gzip';

  constructor(kind: BodyFault['kind'], message: string) {
    super(message);
    this.name = 'BodyFault';
    this.kind = kind;
  }
}
