import { createHash, timingSafeEqual } from 'node:crypto';
import { isLoopbackHost } from '../../core/net/loopback.ts';

/**
 * Whether an Authorization header carries the token: as `Bearer`, or as the password of `Basic` with any user name,
 * which is how a browser can send it. Takes the same time whatever the header holds.
 */
export function carriesToken(header: string | undefined, token: string): boolean {
  const [, scheme = '', credentials = ''] = /^(\S+) +(.*)$/s.exec(header ?? '') ?? [];
  const given = tokenOf(scheme.toLowerCase(), credentials);
  // Digests are of one length, so that the comparison tells nothing about that of the token.
  return given !== null && timingSafeEqual(digest(given), digest(Buffer.from(token, 'utf8')));
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
