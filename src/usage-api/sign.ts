import { createHash, createHmac } from 'node:crypto';
import { parseSignedText, type SignedPart, type SigningScheme } from '../config/signing-scheme.ts';
import { isoTime, type WallClock } from '../core/clock.ts';
import { InvalidRequestError } from './errors.ts';

/** An API key of the service. */
export interface ApiKey {
  apiKeyId: string;
  secretKey: string;
}

export interface SigningCredentials extends ApiKey {
  workspaceId: string;
  signing: Readonly<SigningScheme>;
}

/** The parts of a request that a signature may cover. */
export interface SignedRequest {
  method: string;
  /** The percent-encoded path with its query. */
  path: string;
  body?: string | undefined;
}

/** The four headers of an authenticated request (API specification, section 5). */
export interface SignedHeaders {
  'X-API-Key-ID': string;
  'X-Workspace-ID': string;
  'X-Valid-Until': string;
  'X-Signature': string;
}

/**
 * Signs a request that is sent at `nowMs` (milliseconds since the epoch). By default the signature covers neither path
 * nor body: anyone who has it can use it until X-Valid-Until, so the result is a secret and is never logged or stored.
 * Throws InvalidRequestError for an invalid template.
 */
export function signRequest(credentials: SigningCredentials, request: SignedRequest, nowMs: number): SignedHeaders {
  return createSigner(credentials, { now: () => nowMs })(request);
}

/** Signs a request for the current time. */
export type RequestSigner = (request: SignedRequest) => SignedHeaders;

/** The parts of the signed text that can differ between two requests in the same second. */
const REQUEST_PARTS: ReadonlySet<SignedPart> = new Set(['method', 'path', 'query', 'body_sha256']);

/**
 * Returns a function that signs each request for the current time, as `signRequest` does. If the signature covers no
 * part of the request, it is computed only once a second.
 */
export function createSigner(
  { workspaceId, apiKeyId, secretKey, signing }: SigningCredentials,
  clock: WallClock,
): RequestSigner {
  const template = parseSignedText(signing.payload);
  if (typeof template === 'string')
    throw new InvalidRequestError(`the template of the signed text ${template}`, 'see SigningScheme.payload');
  const coversRequest = template.some((piece) => 'part' in piece && REQUEST_PARTS.has(piece.part));
  let last: SignedHeaders | null = null;
  return (request) => {
    const validUntil = formatValidUntil(signing, clock.now());
    if (!coversRequest && last?.['X-Valid-Until'] === validUntil) return last;
    const query = request.path.indexOf('?');
    const values: Record<SignedPart, () => string> = {
      workspace_id: () => workspaceId,
      api_key_id: () => apiKeyId,
      valid_until: () => validUntil,
      method: () => request.method,
      path: () => (query < 0 ? request.path : request.path.slice(0, query)),
      query: () => (query < 0 ? '' : request.path.slice(query + 1)),
      body_sha256: () =>
        createHash('sha256')
          .update(request.body ?? '', 'utf8')
          .digest('hex'),
    };
    const hmac = createHmac('sha256', secretKey);
    for (const piece of template) hmac.update('part' in piece ? values[piece.part]() : piece.literal, 'utf8');
    last = {
      'X-API-Key-ID': apiKeyId,
      'X-Workspace-ID': workspaceId,
      'X-Valid-Until': validUntil,
      'X-Signature': hmac.digest(signing.encoding),
    };
    return last;
  };
}

/** Formats the time of expiry. It is a whole second in all three formats, so that they name the same instant. */
function formatValidUntil(signing: Readonly<SigningScheme>, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000) + signing.validForSeconds;
  switch (signing.validUntil) {
    case 'unix_seconds':
      return String(seconds);
    case 'unix_millis':
      return String(seconds * 1000);
    case 'iso8601':
      return isoTime(seconds * 1000);
  }
}
