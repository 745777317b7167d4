import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';

const TOKEN_PARAMETER = 'token';

/** Returns the token of the link that `usage-ledger open` prints; null if the URL has none. */
export function tokenOfLink({ url, headers }: FastifyRequest): Buffer | null {
  if (headers.authorization !== undefined) return null;
  const token = parametersOf(url).get(TOKEN_PARAMETER);
  return token === null ? null : Buffer.from(token, 'utf8');
}

/**
 * Returns a `Bearer` token, or the password of `Basic` credentials with any user name. Returns null without an
 * `Authorization` header, and an empty token for any other content.
 */
export function tokenOfHeader({ authorization }: IncomingHttpHeaders): Buffer | null {
  if (authorization === undefined) return null;
  const [, scheme = '', credentials = ''] = /^(\S+) +(.*)$/s.exec(authorization) ?? [];
  return tokenOf(scheme.toLowerCase(), credentials) ?? Buffer.alloc(0);
}

/** Returns a URL without its token parameter; null if the URL has no such parameter. */
export function withoutToken(url: string): string | null {
  const parameters = parametersOf(url);
  if (!parameters.has(TOKEN_PARAMETER)) return null;
  parameters.delete(TOKEN_PARAMETER);
  const [path = '/'] = url.split('?', 1);
  // The path must begin with a single slash, because `//name` would redirect to another host.
  return `/${path.replace(/^\/+/, '')}${parameters.size === 0 ? '' : `?${parameters}`}`;
}

function parametersOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start + 1));
}

function tokenOf(scheme: string, credentials: string): Buffer | null {
  // Node decodes header values as latin1, one character per byte.
  if (scheme === 'bearer') return Buffer.from(credentials, 'latin1');
  if (scheme !== 'basic') return null;
  const pair = Buffer.from(credentials, 'base64');
  const colon = pair.indexOf(':');
  return colon < 0 ? null : pair.subarray(colon + 1);
}
