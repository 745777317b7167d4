import { createHmac } from 'node:crypto';
import type { SigningScheme } from '../config/signing-scheme.ts';
import { isoTime, type WallClock } from '../core/clock.ts';

export interface SigningCredentials {
  workspaceId: string;
  apiKeyId: string;
  secretKey: string;
  signing: Readonly<SigningScheme>;
}

/** The four headers of an authenticated request (interface document, section 5). */
export interface SignedHeaders {
  'X-API-Key-ID': string;
  'X-Workspace-ID': string;
  'X-Valid-Until': string;
  'X-Signature': string;
}

/**
 * Signs a request that is sent at `nowMs` (milliseconds since the epoch). The signature covers neither path nor body:
 * whoever sees it can use it until X-Valid-Until, so the result is a secret and is never logged or stored.
 */
export function signRequest(credentials: SigningCredentials, nowMs: number): SignedHeaders {
  const { workspaceId, apiKeyId, secretKey, signing } = credentials;
  const validUntil = formatValidUntil(signing, nowMs);
  // One pass: an id that itself contains a placeholder is signed as it is.
  const payload = signing.payload.replace(/\{(workspace_id|valid_until)\}/g, (_, name) =>
    name === 'workspace_id' ? workspaceId : validUntil,
  );
  return {
    'X-API-Key-ID': apiKeyId,
    'X-Workspace-ID': workspaceId,
    'X-Valid-Until': validUntil,
    'X-Signature': createHmac('sha256', secretKey).update(payload, 'utf8').digest(signing.encoding),
  };
}

/**
 * Signs each request for the moment at which it is sent, as `signRequest` does. Requests of the same second have the same
 * headers, and so these are worked out once a second.
 */
export function createSigner(credentials: SigningCredentials, clock: WallClock): () => SignedHeaders {
  let last: SignedHeaders | null = null;
  return () => {
    const nowMs = clock.now();
    if (last?.['X-Valid-Until'] !== formatValidUntil(credentials.signing, nowMs))
      last = signRequest(credentials, nowMs);
    return last;
  };
}

/** Whole seconds in every format, so that the three formats name the same instant. */
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
