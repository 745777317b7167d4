import { parsePeriod } from '../core/period.ts';
import { isHttpsOrLoopback } from '../net/local-address.ts';
import { InvalidRequestError } from './errors.ts';

/** Filters and page of a usage listing (API specification, 4.3 and 4.4). */
export interface UsageQuery {
  /** `YYYY-MM`, inclusive. */
  fromPeriod?: string | undefined;
  toPeriod?: string | undefined;
  /** From 1; the service's default is 1. */
  page?: number | undefined;
  /** From 1 to 100; the service's default is 50. */
  perPage?: number | undefined;
}

/** Returns the query string with its `?`, or an empty string. Throws if a value is out of range or no period. */
export function formatUsageQuery({ fromPeriod, toPeriod, page, perPage }: UsageQuery): string {
  requireWithin(page, 1, Number.MAX_SAFE_INTEGER, 'page');
  requireWithin(perPage, 1, 100, 'per_page');
  const parts: string[] = [];
  if (fromPeriod !== undefined) parts.push(`from_period=${parsePeriod(fromPeriod, 'from_period')}`);
  if (toPeriod !== undefined) parts.push(`to_period=${parsePeriod(toPeriod, 'to_period')}`);
  if (page !== undefined) parts.push(`page=${page}`);
  if (perPage !== undefined) parts.push(`per_page=${perPage}`);
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** Throws InvalidRequestError unless the value is absent or a whole number from `least` to `most`. */
export function requireWithin(value: number | undefined, least: number, most: number, label: string): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least && value <= most)) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
  throw new InvalidRequestError(`${label} ${value} is out of range`, `use a whole number, ${range}`);
}

export function requireText(value: string, label: string): void {
  if (value.trim() === '') throw new InvalidRequestError(`${label} is empty`, 'set it');
}

/**
 * Throws InvalidRequestError unless the text is visible ASCII, which is safe in a header. The error does not show the
 * text, because somebody may have passed a secret by mistake.
 */
export function requireHeaderText(value: string, label: string): void {
  requireText(value, label);
  if (/^[!-~]+$/.test(value)) return;
  throw new InvalidRequestError(
    `${label} has characters that are not allowed in a header`,
    'copy it exactly from the service',
  );
}

/** Returns a request body as JSON. Throws InvalidRequestError if `extra` has a name that `fields` has too. */
export function formatBody(
  fields: Readonly<Record<string, unknown>>,
  extra: Readonly<Record<string, unknown>> = {},
): string {
  const duplicate = Object.keys(extra).find((name) => Object.hasOwn(fields, name));
  if (duplicate === undefined) return JSON.stringify({ ...extra, ...fields });
  throw new InvalidRequestError(
    `extra has ${JSON.stringify(duplicate)}, which is already set`,
    'use the option of that name',
  );
}

interface ServiceUrl {
  origin: string;
  /** The path before `/api/...`, without a trailing slash. */
  prefix: string;
}

/**
 * Parses the address of the service. Throws InvalidRequestError unless it is https, or http to this machine: with plain
 * http others could read the signature, and the secret key in a request for an embed token.
 */
export function parseServiceUrl(text: string, setting: string): ServiceUrl {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new InvalidRequestError(`${setting} is not an http address`, 'write it like https://api.example.com');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidRequestError(
      `${setting} contains credentials, a query or a fragment`,
      'use only the scheme, the host and a path',
    );
  }
  if (!isHttpsOrLoopback(url)) {
    throw new InvalidRequestError(
      `${setting} is plain http to ${url.host}, which exposes secrets`,
      'use https; http is only for addresses of this machine',
    );
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

/**
 * Returns an id as one percent-encoded path segment. Throws for `.` and `..`: servers and proxies remove such segments,
 * even if they are encoded, so the request would reach another resource.
 */
export function pathSegment(id: string, label: string): string {
  if (id === '' || id === '.' || id === '..') {
    throw new InvalidRequestError(`${label} ${JSON.stringify(id)} cannot be part of an address`, 'use a real id');
  }
  if (/\p{Cs}/u.test(id)) {
    throw new InvalidRequestError(`${label} is not valid Unicode`, 'copy the id exactly from the service');
  }
  return encodeURIComponent(id);
}
