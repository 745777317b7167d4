import { isHttpsOrLoopback } from '../core/net/public-address.ts';
import { parsePeriod } from '../core/period.ts';
import { InvalidRequestError } from './errors.ts';

/** Filters and place in a usage listing (interface document, 4.3 and 4.4). */
export interface UsageQuery {
  /** `YYYY-MM`, included. */
  fromPeriod?: string | undefined;
  toPeriod?: string | undefined;
  /** From 1; the service's default is 1. */
  page?: number | undefined;
  /** From 1 to 100; the service's default is 50. */
  perPage?: number | undefined;
}

/** The query string with its `?`, or nothing. Everything is checked before anything is sent. */
export function queryText({ fromPeriod, toPeriod, page, perPage }: UsageQuery): string {
  requireWithin(page, 1, Number.MAX_SAFE_INTEGER, 'page');
  requireWithin(perPage, 1, 100, 'per_page');
  const parts: string[] = [];
  if (fromPeriod !== undefined) parts.push(`from_period=${parsePeriod(fromPeriod, 'from_period')}`);
  if (toPeriod !== undefined) parts.push(`to_period=${parsePeriod(toPeriod, 'to_period')}`);
  if (page !== undefined) parts.push(`page=${page}`);
  if (perPage !== undefined) parts.push(`per_page=${perPage}`);
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** Refuses anything but a whole number from `least` to `most`; an absent one is fine. */
export function requireWithin(value: number | undefined, least: number, most: number, what: string): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least && value <= most)) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
  throw new InvalidRequestError(`${what} ${value} is out of range`, `give a whole number, ${range}`);
}

export function requireText(value: string, what: string): void {
  if (value.trim() === '') throw new InvalidRequestError(`${what} is empty`, 'give a text');
}

/** Headers carry visible ASCII safely and nothing else. The value is not shown: it may be a secret put in by mistake. */
export function requireHeaderText(value: string, what: string): void {
  requireText(value, what);
  if (/^[!-~]+$/.test(value)) return;
  throw new InvalidRequestError(`${what} has characters that a header cannot carry`, 'give it as the service shows it');
}

/** The JSON of a body: our own fields and further ones, which cannot take their place. */
export function bodyText(
  own: Readonly<Record<string, unknown>>,
  extra: Readonly<Record<string, unknown>> = {},
): string {
  const taken = Object.keys(extra).find((name) => Object.hasOwn(own, name));
  if (taken === undefined) return JSON.stringify({ ...extra, ...own });
  throw new InvalidRequestError(`extra has ${JSON.stringify(taken)}, which is set already`, 'give it by its own name');
}

interface ServiceUrl {
  origin: string;
  /** What stands before `/api/...`, without a slash at its end. */
  prefix: string;
}

/**
 * Refuses anything but https, or http to this very machine: a signature, and in the embed call the secret itself, would
 * be readable on the way.
 */
export function parseServiceUrl(text: string, setting: string): ServiceUrl {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new InvalidRequestError(`${setting} is not an http address`, 'write it like https://api.example.com');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidRequestError(
      `${setting} carries credentials, a query or a fragment`,
      'give only the scheme, the host and a path',
    );
  }
  if (!isHttpsOrLoopback(url)) {
    throw new InvalidRequestError(
      `${setting} is plain http to ${url.host}, where secrets would be readable on the way`,
      'use https; http is only for addresses of this machine',
    );
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

/**
 * An id as one segment of a path. `.` and `..` are refused: even percent-encoded, addresses with them are shortened by
 * servers and proxies, and the request would ask for something else.
 */
export function pathSegment(id: string, what: string): string {
  if (id === '' || id === '.' || id === '..') {
    throw new InvalidRequestError(`${what} ${JSON.stringify(id)} cannot stand in an address`, 'give a real id');
  }
  if (/\p{Cs}/u.test(id)) {
    throw new InvalidRequestError(`${what} is not valid Unicode`, 'give the id as the service gave it');
  }
  return encodeURIComponent(id);
}
