import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isLoopbackHost } from '../../core/net/public-address.ts';

const COOKIE = 'usage_ledger_token';
const PARAMETER = 'token';

/**
 * The token that a request brings: as `Bearer`, as the password of `Basic` with any user name, in the link of
 * `usage-ledger open`, or in the cookie that this link has set; null where there is none.
 */
export function givenToken(headers: IncomingHttpHeaders, url: string): Buffer | null {
  if (headers.authorization !== undefined) {
    const [, scheme = '', credentials = ''] = /^(\S+) +(.*)$/s.exec(headers.authorization) ?? [];
    return tokenOf(scheme.toLowerCase(), credentials);
  }
  const inLink = parametersOf(url).get(PARAMETER);
  if (inLink !== null) return Buffer.from(inLink, 'utf8');
  const [, inCookie] = new RegExp(`(?:^|; *)${COOKIE}=([^;]*)`).exec(headers.cookie ?? '') ?? [];
  return inCookie === undefined ? null : Buffer.from(inCookie, 'base64url');
}

/** Takes the same time whatever was given. */
export function isToken(given: Buffer | null, token: string): boolean {
  // Digests are of one length, so that the comparison tells nothing about that of the token.
  return given !== null && timingSafeEqual(digest(given), digest(Buffer.from(token, 'utf8')));
}

/** The address of a link without its token; null for one that has none. */
export function withoutToken(url: string): string | null {
  const parameters = parametersOf(url);
  if (!parameters.has(PARAMETER)) return null;
  parameters.delete(PARAMETER);
  const [path = '/'] = url.split('?', 1);
  // One slash: two would name another host.
  return `/${path.replace(/^\/+/, '')}${parameters.size === 0 ? '' : `?${parameters}`}`;
}

/** What a browser keeps until it is closed, out of reach of scripts and of other sites. */
export function cookieOf(token: string): string {
  return `${COOKIE}=${Buffer.from(token, 'utf8').toString('base64url')}; Path=/; HttpOnly; SameSite=Lax`;
}

function parametersOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start + 1));
}

function tokenOf(scheme: string, credentials: string): Buffer | null {
  // Node hands out header values as latin1, byte for byte.
  if (scheme === 'bearer') return Buffer.from(credentials, 'latin1');
  if (scheme !== 'basic') return null;
  const pair = Buffer.from(credentials, 'base64');
  const colon = pair.indexOf(':');
  return colon < 0 ? null : pair.subarray(colon + 1);
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/**
 * Whether a Host header names this machine. A page on the web can let its own name resolve to 127.0.0.1 and would then
 * read what is served here; the browser still sends that name.
 */
export function namesLoopback(hostHeader: string | undefined): boolean {
  const [, host = ''] = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(hostHeader ?? '') ?? [];
  return isLoopbackHost(host);
}
