import { isIPv4 } from 'node:net';

/** Reports whether secrets may be sent to this URL: it uses https, or it uses http and its host is this machine. */
export function isHttpsOrLoopback(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

/**
 * Returns the URL at which this machine can reach a program that listens on `host`, even if `host` stands for all
 * addresses, such as `0.0.0.0`.
 */
export function localUrl(host: string, port: number): string {
  return urlOf(host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host, port);
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`;
}

/**
 * Reports whether a host is this machine itself: an address in 127.0.0.0/8, ::1 (with or without brackets) or
 * localhost. Traffic to such a host never leaves this machine.
 */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  if (name === 'localhost' || name === '::1' || name === '[::1]') return true;
  return isIPv4(name) && name.startsWith('127.');
}
