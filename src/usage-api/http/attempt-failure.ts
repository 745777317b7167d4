import { AppError } from '../../core/errors.ts';
import { type ApiError, type EndpointLabel, InvalidResponseError, NetworkError, TimeoutError } from '../errors.ts';
import { BodyFault } from './read-body.ts';

export interface AttemptFailureDetails {
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

const HINTS: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there: check the address and whether the service runs',
  ENOTFOUND: 'the host name does not resolve: check the address and the name server',
  EAI_AGAIN: 'the name server does not answer',
  CERT_HAS_EXPIRED: "the service's certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'the certificate is self-signed: name it in `ca_file` or NODE_EXTRA_CA_CERTS to trust it',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its authority is not known here: name the file of a private one in `ca_file` or NODE_EXTRA_CA_CERTS; a public one is left out by the server',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its authority is not known here: name the file of a private one in `ca_file` or NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN:
    'the certificate chain is private: name its authority in `ca_file` or NODE_EXTRA_CA_CERTS to trust it',
  UND_ERR_ABORTED: 'the proxy does not let it through: check its address, user and password, and whom it lets pass',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate belongs to another host: check the address',
};

/** Turns what undici and the body reader throw into ours; anything that is no fault of a connection stays as it is. */
export function connectionFailure(thrown: unknown, endpoint: EndpointLabel): unknown {
  if (thrown instanceof BodyFault) return failure(bodyError(thrown, endpoint));
  if (!(thrown instanceof Error) || thrown instanceof AppError || !('code' in thrown)) return thrown;
  const code = String(thrown.code ?? thrown.name);
  if (DEFECT_CODES.test(code)) return thrown;
  if (CLOSED_CODES.has(code)) {
    return new AppError('client_closed', `${endpoint}: the client is closed`, { cause: thrown });
  }
  // What could not be parsed is quoted by the parser's error, and it may repeat what was sent.
  const cause = 'data' in thrown ? new Error(code) : thrown;
  const options = { endpoint, cause, hint: HINTS[code] };
  if (TIMEOUT_CODES.has(code))
    return failure(new TimeoutError(`${endpoint}: no connection in time (${code})`, options));
  return failure(new NetworkError(`${endpoint}: the connection failed (${code})`, options), code === 'ECONNREFUSED');
}

function bodyError(fault: BodyFault, endpoint: EndpointLabel): ApiError {
  const message = `${endpoint}: ${fault.message}`;
  return fault.kind === 'cut_off'
    ? new NetworkError(message, { endpoint, cause: fault })
    : new InvalidResponseError(message, { endpoint, cause: fault });
}

function failure(error: ApiError, neverSent = false): AttemptFailure {
  return new AttemptFailure({ error, retryAfterMs: null, neverSent });
}
