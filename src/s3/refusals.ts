import { AppError } from '../core/errors.ts';
import { type OutboundError, UnreachableError } from '../net/outbound-errors.ts';
import { ProxyRefusedError } from '../net/proxy-refusal.ts';

export class S3Error extends AppError {
  readonly status: number | null;

  constructor(code: string, message: string, options: { status: number | null; retryable: boolean; hint: string }) {
    super(code, message, options);
    this.status = options.status;
  }
}

/**
 * The details of a response that refuses a request. The service's message is left out, because it may quote signed
 * data.
 */
export interface S3Refusal {
  status: number;
  /** The error code, such as `NoSuchBucket`; null if the response has no body, as for HEAD. */
  code: string | null;
  region: string | null;
}

/** What an error message says of a refused request. */
export interface RefusedRequest {
  /** The request, such as `PUT s3://bucket/key`. */
  label: string;
  /** The permission that the request needs, from `requiredPermission`. */
  permission: string;
  /** The objects that the permission must cover, such as `s3://bucket/prefix/*`. */
  place: string;
}

interface RequestKind {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** The name of an object; null for the bucket itself. */
  name: string | null;
  query?: Record<string, string>;
}

/**
 * Returns the permission that a request needs, under its name in Amazon S3's policies. Other services use the same
 * names.
 */
export function requiredPermission({ method, name, query = {} }: RequestKind): string {
  if (name === null) return 'uploads' in query ? 's3:ListBucketMultipartUploads' : 's3:ListBucket';
  if (method === 'DELETE') return 'uploadId' in query ? 's3:AbortMultipartUpload' : 's3:DeleteObject';
  if (method === 'GET') return 's3:GetObject';
  // If the key may not list objects, the service refuses HEAD for a missing object with 403 instead of 404.
  if (method === 'HEAD') return 's3:GetObject and s3:ListBucket';
  return 's3:PutObject';
}

const DENIED = 's3_denied';

interface RefusalReason {
  /** The error code of this program, which replaces the code of the service. */
  own: string;
  /** Describes the problem; null if the service's own code is clear enough. */
  words: ((request: RefusedRequest) => string) | null;
  remedy: (request: RefusedRequest) => string;
}

const GRANT = ({ permission, place }: RefusedRequest): string =>
  `grant ${permission} on ${place} to \`s3.access_key_id\``;

const MISSING_RIGHT: RefusalReason = {
  own: DENIED,
  words: ({ permission }) => `it refused ${permission}`,
  remedy: GRANT,
};
const UNKNOWN_KEY: RefusalReason = {
  own: DENIED,
  words: () => 'it does not know the key',
  remedy: () => 'check `s3.access_key_id` and its secret',
};

/** Problems and remedies by the error code of the service. */
const S3_REASONS: Readonly<Record<string, RefusalReason>> = {
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
    remedy: () => "synchronize this machine's clock with NTP: it differs from the service's",
  },
};
/** Used for status 403 if the code is unknown or missing. A response to HEAD has no body, so it has no code. */
const UNKNOWN_FORBIDDEN: RefusalReason = {
  own: DENIED,
  words: ({ permission }) => `it refused ${permission}`,
  remedy: (request) => `${GRANT(request)}, or check \`s3.access_key_id\` and its secret`,
};
const UNKNOWN_S3_REFUSAL: RefusalReason = {
  own: 's3_failed',
  words: null,
  remedy: () => 'check the status page of the service',
};
const REGION_CODES = /^(PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint)/;

/** Converts a failed response to an error. */
export function toRefusalError(request: RefusedRequest, { status, code, region }: S3Refusal): S3Error {
  const responseText = `${request.label}: the service answered ${status}${code === null ? '' : ` ${code}`}`;
  const isRegion = status === 301 || status === 307 || REGION_CODES.test(code ?? '');
  if (isRegion || (status === 400 && region !== null && S3_REASONS[code ?? ''] === undefined)) {
    const hint = `correct \`s3.region\`${region === null ? '' : `: the bucket is in ${region}`}`;
    return new S3Error('s3_region', responseText, { status, retryable: false, hint });
  }
  const { own, words, remedy } = S3_REASONS[code ?? ''] ?? (status === 403 ? UNKNOWN_FORBIDDEN : UNKNOWN_S3_REFUSAL);
  const retryable = status >= 500 || status === 429 || code === 'RequestTimeout' || code === 'InternalError';
  const message = words === null ? responseText : `${responseText}: ${words(request)}`;
  return new S3Error(own, message, { status, retryable, hint: remedy(request) });
}

/** Reports whether an error code is that of a failed request to S3, whose cause is at the service or in the network. */
export function isS3Failure(code: string): boolean {
  return code.startsWith('s3_');
}

/** Converts the error of a request without a complete response to an S3Error. */
export function noResponseError(label: string, error: OutboundError): S3Error {
  const message = `${label}: ${error.message}`;
  if (error instanceof ProxyRefusedError) {
    const { hint = '', status } = error;
    return new S3Error('s3_unreachable', message, { status, retryable: true, hint });
  }
  const isUntrusted = error instanceof UnreachableError && error.isUntrusted;
  const hint = isUntrusted
    ? 'set the certificate authority in `s3.ca_file`, or correct `s3.endpoint`'
    : 'check `s3.endpoint`, the network and the proxy';
  return new S3Error(isUntrusted ? 's3_untrusted' : 's3_unreachable', message, {
    status: null,
    retryable: !isUntrusted,
    hint,
  });
}
