import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { systemClock } from '../../core/clock.ts';
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

/** Wrong tokens in a row that an address may send at once. */
const MOST_GUESSES = 10;
/** After which one more is forgiven. */
const FORGIVEN_AFTER_MS = 6_000;
/** Addresses that are remembered; the one that was wrong the longest ago is forgotten first. */
const MOST_ADDRESSES = 1000;

interface Guesses {
  count: number;
  /** Up to when guesses have been forgiven, milliseconds of the monotonic clock. */
  atMs: number;
}

/**
 * Slows down who sends wrong tokens from one address: ten at once, then one every six seconds. The right token is let in all
 * the same, or whoever shares the address could shut its owner out; what keeps it from being guessed is its length.
 */
export class GuessLimit {
  readonly #guesses = new Map<string, Guesses>();
  readonly #now: () => number;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => systemClock.monotonic()) {
    this.#now = now;
  }

  /** Seconds that the address has to wait until it may try a token again; 0 when it may. */
  waitSeconds(address: string): number {
    const known = this.#current(address);
    if (known === null || known.count < MOST_GUESSES) return 0;
    return Math.ceil((FORGIVEN_AFTER_MS - (this.#now() - known.atMs)) / 1000);
  }

  /** To be told of each wrong token. */
  wrong(address: string): void {
    const key = networkOf(address);
    const { count, atMs } = this.#current(address) ?? { count: 0, atMs: this.#now() };
    this.#guesses.delete(key);
    this.#guesses.set(key, { count: count + 1, atMs });
    const [longest] = this.#guesses.keys();
    if (this.#guesses.size > MOST_ADDRESSES && longest !== undefined) this.#guesses.delete(longest);
  }

  /** What is not forgiven yet. */
  #current(address: string): Guesses | null {
    const known = this.#guesses.get(networkOf(address));
    if (known === undefined) return null;
    const forgiven = Math.floor((this.#now() - known.atMs) / FORGIVEN_AFTER_MS);
    if (forgiven >= known.count) return null;
    return { count: known.count - forgiven, atMs: known.atMs + forgiven * FORGIVEN_AFTER_MS };
  }
}

/** An address of IPv6 is one of very many that its owner has: its network of 64 bits counts. */
function networkOf(address: string): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!bare.includes(':')) return bare;
  const [head = '', tail] = bare.replace(/%.*$/, '').split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  return [...before, ...(tail === undefined ? [] : zeros), ...after].slice(0, 4).join(':');
}
