import { isIPv6 } from 'node:net';
import { timesAfter } from '../core/cron.ts';
import { parseRedisAddress } from '../core/text/redis-address.ts';
import { ALWAYS, checkIntervals, type TimeIntervals } from '../core/time-intervals.ts';
import { isTimeZone, UTC } from '../core/time-zone.ts';
import { isHttpsOrLoopback, isLoopbackHost } from '../net/local-address.ts';
import { parseSignedText } from './signing-scheme.ts';

/** Checks one value and returns its problem, or null. The text never contains the value, which may be a secret. */
export type Rule = (text: string) => string | null;

/** Accepts an address for requests: https, or http on this machine, without any part that could carry a credential. */
export const addressRule: Rule = (text) =>
  channelAddressRule(text) ?? (/[?#]/.test(text) ? 'has a query or a fragment' : null);

/**
 * Returns a rule for addresses with one of these protocols. `kind` describes such an address in the message; `judge`
 * checks the rest of it.
 */
function urlRule(protocols: readonly string[], kind: string, judge: (url: URL) => string | null): Rule {
  return (text) => {
    if (/\s/.test(text) || !URL.canParse(text)) return 'is not an address';
    const url = new URL(text);
    return protocols.includes(url.protocol) ? judge(url) : `is not ${kind}`;
  };
}

/** Accepts the address of an alert channel: like `addressRule`, but it may have a query, which counts as a secret. */
export const channelAddressRule = urlRule(['https:', 'http:'], 'an https:// address', (url) => {
  if (url.username !== '' || url.password !== '') return 'contains credentials, which would end up in logs';
  if (url.href.includes('#')) return 'has a fragment';
  return isHttpsOrLoopback(url) ? null : 'uses http:// to another machine, which would show secrets to the network';
});

export const fileNameRule: Rule = (text) =>
  /^[a-z0-9][a-z0-9_-]{0,63}$/.test(text) ? null : 'is not a word of small letters, digits, - and _';

export const hostRule: Rule = (text) =>
  isIPv6(text) || /^[a-z0-9_]([a-z0-9._-]*[a-z0-9_.])?$/i.test(text) ? null : 'is not the name or address of a server';

/**
 * Accepts one e-mail address, alone or as `Name <address>`, without characters that could start another header or name
 * another recipient.
 */
export const mailboxRule: Rule = (text) => {
  const address = /^[^<>",;:\p{C}]*<([^<>]*)>$/u.exec(text)?.[1] ?? text;
  return /^[^\s<>()[\]\\,;:"@\p{C}]+@[^\s<>()[\]\\,;:"@\p{C}]+$/u.test(address) ? null : 'is not an e-mail address';
};

const namesHost = ({ hostname }: URL) => (hostname === '' ? 'names no host' : null);
const proxyAddress = urlRule(['http:', 'https:'], 'an http:// or https:// address', namesHost);

export const redisRule: Rule = (text) => {
  const address = text === '' ? null : parseRedisAddress(text);
  return typeof address === 'string' ? address : null;
};

export const proxyRule: Rule = (text) => (text === '' || text === 'none' ? null : proxyAddress(text));

/**
 * Accepts the address of a Postgres database. An `ssl` parameter is rejected: encryption must be set in `publish.tls`,
 * where people look for it.
 */
export const postgresRule = urlRule(['postgres:', 'postgresql:'], 'a postgres:// address', (url) => {
  if (url.pathname.length < 2) return 'names no database';
  if (url.hash !== '') return 'has a fragment';
  const tls = [...url.searchParams.keys()].find((name) => name.startsWith('ssl'));
  return tls === undefined ? null : 'sets the encryption of the connection: use publish.tls instead';
});

/** Reports whether the database is on this machine, so that it is reached by loopback or a unix socket. */
export function isLocalPostgres(text: string): boolean {
  const url = new URL(text);
  const host = url.searchParams.get('host') ?? decodeURIComponent(url.hostname);
  return host === '' || host.startsWith('/') || isLoopbackHost(host);
}

/** Accepts a bucket with an optional key prefix, such as `s3://bucket/prefix`. */
export const s3Rule: Rule = (text) =>
  parseS3Url(text) === null ? 'is not an address such as s3://bucket/prefix' : null;

/** Parses an S3 address; null if it is not one. The key may be empty. */
export function parseS3Url(text: string): { bucket: string; key: string } | null {
  const [, bucket, key = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([^\s/\p{C}][^\p{C}]*)?)?$/u.exec(text) ?? [];
  return bucket === undefined ? null : { bucket, key };
}

/** Returns an S3 key as a prefix: with exactly one slash at its end, or empty. */
export function prefixOf(key: string): string {
  const bare = key.replace(/\/+$/, '');
  return bare === '' ? '' : `${bare}/`;
}

/**
 * Accepts a five-field cron expression that is due at least once. Six fields, `@daily` and the `H` of Jenkins are
 * rejected: the scheduler reads them differently or not at all.
 */
export const cronRule: Rule = (text) => {
  const fields = text.split(/\s+/);
  if (fields.length !== 5) return 'is not a cron expression of five fields';
  if (fields.some((field) => /(^|,)H/i.test(field))) return 'uses H, which has no meaning here';
  try {
    if (timesAfter({ cron: text, timezone: UTC }, 0).next().value !== undefined) return null;
  } catch {
    // The expression cannot be parsed.
  }
  return 'is not a cron expression that ever comes due';
};

export const timezoneRule: Rule = (text) => (isTimeZone(text) ? null : 'is not the name of a time zone');

export const weekdaysRule: Rule = (text) =>
  areIntervals({ weekdays: text }) ? null : 'is not a list of weekdays such as mon-fri';

export const hoursRule: Rule = (text) => (areIntervals({ hours: text }) ? null : 'is not a range such as 08:00-18:00');

function areIntervals(given: Partial<TimeIntervals>): boolean {
  try {
    checkIntervals({ ...ALWAYS, ...given });
    return true;
  } catch {
    return false;
  }
}

export const payloadRule: Rule = (text) => {
  const parsed = parseSignedText(text);
  return typeof parsed === 'string' ? parsed : null;
};

/** Accepts an identifier that is safe in a request header and as one segment of a path. */
export const identifierRule: Rule = (text) => {
  if (!/^[\x20-\x7e]*$/.test(text)) return 'contains characters that a request header cannot carry';
  return text === '.' || text === '..' ? 'would change the path of a request' : null;
};

/** Rejects white space around a secret: it comes from copying and would make every signature wrong. */
export const secretRule: Rule = (text) => (text === text.trim() ? null : 'begins or ends with white space');
