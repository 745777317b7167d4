import { AppError } from '../core/errors.ts';
import type { ProxyRefusedError } from '../core/net/proxy-refusal.ts';

export class S3Error extends AppError {
  readonly status: number | null;

  constructor(code: string, message: string, options: { status: number | null; retryable: boolean; hint: string }) {
    super(code, message, options);
    this.status = options.status;
  }
}

/** An answer that is no success. The message of the service is left out: it may quote what was signed. */
export interface Refusal {
  status: number;
  /** Such as `NoSuchBucket`; null where the answer has no body, as for HEAD. */
  code: string | null;
  region: string | null;
}

/** A request that was refused, as people read it. */
export interface RefusedRequest {
  /** Such as `PUT s3://bucket/key`. */
  label: string;
  /** The right that the request needs, see `rightOf`. */
  right: string;
  /** What the right is for, such as `s3://bucket/prefix/*`. */
  place: string;
}

interface RequestKind {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** The name of an object; null: the bucket itself. */
  name: string | null;
  query?: Record<string, string>;
}

/** The right that a request needs, as policies of Amazon S3 name it; other services use the same names. */
export function rightOf({ method, name, query = {} }: RequestKind): string {
  if (name === null) return 'uploads' in query ? 's3:ListBucketMultipartUploads' : 's3:ListBucket';
  if (method === 'DELETE') return 'uploadId' in query ? 's3:AbortMultipartUpload' : 's3:DeleteObject';
  if (method === 'GET') return 's3:GetObject';
  // Without the right to list, HEAD for a missing object is refused, too.
  if (method === 'HEAD') return 's3:GetObject and s3:ListBucket';
  return 's3:PutObject';
}

const DENIED = 's3_denied';

interface Reason {
  /** The code of the error. */
  own: string;
  /** What is wrong, in words; null: the code of the service says it. */
  words: ((request: RefusedRequest) => string) | null;
  remedy: (request: RefusedRequest) => string;
}

const GRANT = ({ right, place }: RefusedRequest): string => `grant ${right} on ${place} to \`s3.access_key_id\``;

const MISSING_RIGHT: Reason = { own: DENIED, words: ({ right }) => `it refused ${right}`, remedy: GRANT };
const UNKNOWN_KEY: Reason = {
  own: DENIED,
  words: () => 'it does not know the key',
  remedy: () => 'check `s3.access_key_id` and its secret',
};

/** By the code of the service: what is wrong, and the remedy. */
const REASONS: Readonly<Record<string, Reason>> = {
  AccessDenied: MISSING_RIGHT,
  AllAccessDisabled: {
    own: DENIED,
    words: () => 'all access to the bucket is switched off',
    remedy: () => 'ask the operator of the service, or choose another bucket in `to:`',
  },
  AccountProblem: {
    own: DENIED,
    words: () => 'the account of the bucket is blocked',
    remedy: () => 'ask the operator of the service',
  },
  ExpiredToken: { ...UNKNOWN_KEY, words: () => 'the key has expired' },
  InvalidAccessKeyId: UNKNOWN_KEY,
  InvalidToken: UNKNOWN_KEY,
  SignatureDoesNotMatch: {
    own: DENIED,
    words: () => 'the secret does not belong to the key',
    remedy: () => 'check `s3.secret_access_key`, and that it belongs to `s3.access_key_id`',
  },
  NoSuchBucket: {
    own: 's3_no_bucket',
    words: null,
    remedy: () => 'create the bucket, or correct its name in `to:`',
  },
  NoSuchKey: { own: 's3_no_object', words: null, remedy: () => 'check the name of the object' },
  QuotaExceeded: {
    own: 's3_full',
    words: () => 'the quota of the bucket is used up',
    remedy: () => 'raise the quota, or delete old objects',
  },
  XMinioStorageFull: {
    own: 's3_full',
    words: () => 'the disk of the service is full',
    remedy: () => 'make room on the service',
  },
  RequestTimeTooSkewed: {
    own: 's3_clock',
    words: null,
    remedy: () => "set this machine's clock, best by NTP: it differs from the service's",
  },
};
/** 403 without a code that is known: an answer to HEAD has no body. */
const FORBIDDEN: Reason = {
  own: DENIED,
  words: ({ right }) => `it refused ${right}`,
  remedy: (request) => `${GRANT(request)}, or check that key and its secret`,
};
const UNKNOWN: Reason = { own: 's3_failed', words: null, remedy: () => 'see what the service says of its state' };
const REGION_CODES = /^(PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint)/;

/** The error for an answer that is no success. */
export function refusalError(request: RefusedRequest, { status, code, region }: Refusal): S3Error {
  const answer = `${request.label}: the service answered ${status}${code === null ? '' : ` ${code}`}`;
  const isRegion = status === 301 || status === 307 || REGION_CODES.test(code ?? '');
  if (isRegion || (status === 400 && region !== null && REASONS[code ?? ''] === undefined)) {
    const hint = `correct \`s3.region\`${region === null ? '' : `: the bucket is in ${region}`}`;
    return new S3Error('s3_region', answer, { status, retryable: false, hint });
  }
  const { own, words, remedy } = REASONS[code ?? ''] ?? (status === 403 ? FORBIDDEN : UNKNOWN);
  const retryable = status >= 500 || status === 429 || code === 'RequestTimeout' || code === 'InternalError';
  const message = words === null ? answer : `${answer}: ${words(request)}`;
  return new S3Error(own, message, { status, retryable, hint: remedy(request) });
}

/** Whether the same request may succeed once somebody has changed something at the service or on the way to it. */
export function isMendedElsewhere(code: string): boolean {
  return code.startsWith('s3_');
}

export function proxyError(label: string, { message, hint = '', status }: ProxyRefusedError): S3Error {
  return new S3Error('s3_unreachable', `${label}: ${message}`, { status, retryable: true, hint });
}

const UNTRUSTED = /^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** The error for a connection that failed, with its code alone: messages may quote what was sent. */
export function connectionError(label: string, error: unknown): S3Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  const message = `${label}: no connection or no whole answer (${code})`;
  const untrusted = UNTRUSTED.test(code);
  const hint = untrusted
    ? 'name the authority of its certificate in `s3.ca_file`, or correct `s3.endpoint`'
    : 'check `s3.endpoint`, the network and the proxy between';
  const own = untrusted ? 's3_untrusted' : 's3_unreachable';
  return new S3Error(own, message, { status: null, retryable: !untrusted, hint });
}
