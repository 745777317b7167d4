import { AppError } from '../core/errors.ts';

/** What an answer says of its fault. The message of the service is left out: it may quote what was signed. */
export interface Refusal {
  status: number;
  /** Such as `NoSuchBucket`; null where the answer has no body, as of HEAD. */
  code: string | null;
  /** The region that the bucket is in, where the answer says it. */
  region: string | null;
}

/** A store did not do what it was asked for. */
export class S3Error extends AppError {
  /** Null when no answer came. */
  readonly status: number | null;

  constructor(code: string, message: string, options: { status: number | null; retryable: boolean; hint: string }) {
    super(code, message, options);
    this.status = options.status;
  }
}

const RIGHTS =
  'give the key the rights s3:PutObject, s3:GetObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListBucket and ' +
  's3:ListBucketMultipartUploads on that place';
const WRONG_KEY = 'check `s3.access_key_id` and its secret';
const REGION_CODES = /^(PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint)/;

const FAULTS: Readonly<Record<string, readonly [code: string, hint: string]>> = {
  AccessDenied: ['s3_denied', RIGHTS],
  InvalidAccessKeyId: ['s3_denied', WRONG_KEY],
  SignatureDoesNotMatch: ['s3_denied', 'check `s3.secret_access_key`, and that it belongs to `s3.access_key_id`'],
  NoSuchBucket: ['s3_no_bucket', 'create the bucket, or correct its name in `to:`'],
  NoSuchKey: ['s3_no_object', 'check the name of the object'],
  RequestTimeTooSkewed: ['s3_clock', "set this machine's clock, best by NTP: it differs from the service's"],
};

/** The error of an answer that is no success. `what` names the request, such as `PUT s3://bucket/key`. */
export function refusalError(what: string, { status, code, region }: Refusal): S3Error {
  const message = `${what}: the service answered ${status}${code === null ? '' : ` ${code}`}`;
  const isRegion = status === 301 || status === 307 || REGION_CODES.test(code ?? '');
  if (isRegion || (status === 400 && region !== null)) {
    const hint = `correct \`s3.region\`${region === null ? '' : `: the bucket is in ${region}`}`;
    return new S3Error('s3_region', message, { status, retryable: false, hint });
  }
  const byStatus = status === 403 ? (['s3_denied', `${WRONG_KEY}; ${RIGHTS}`] as const) : undefined;
  const [own, hint] = FAULTS[code ?? ''] ?? byStatus ?? ['s3_failed', 'see what the service says of its state'];
  const retryable = status >= 500 || status === 429 || code === 'RequestTimeout' || code === 'InternalError';
  return new S3Error(own, message, { status, retryable, hint });
}

const UNTRUSTED = /^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** The error of a connection that failed; only its code is told. */
export function connectionError(what: string, error: unknown): S3Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  const message = `${what}: no connection or no whole answer (${code})`;
  const untrusted = UNTRUSTED.test(code);
  const hint = untrusted
    ? 'name the authority of its certificate in `s3.ca_file`, or correct `s3.endpoint`'
    : 'check `s3.endpoint`, the network and the proxy between';
  const own = untrusted ? 's3_untrusted' : 's3_unreachable';
  return new S3Error(own, message, { status: null, retryable: !untrusted, hint });
}
