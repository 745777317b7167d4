import { isHttpsOrLoopback } from '../core/net/loopback.ts';
import { InvalidRequestError } from './errors.ts';

/** An address of the service, taken apart for a connection pool. */
export interface ServiceUrl {
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
