import { isIPv4 } from 'node:net';

/** Reports whether secrets may be sent there: over https, or over http to this machine. */
export function isHttpsOrLoopback(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

/** Returns the URL at which this machine reaches a program that listens on a host, which may be every address. */
export function localUrl(host: string, port: number): string {
  return urlOf(host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host, port);
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`;
}

/** True for 127.0.0.0/8, ::1 (with or without brackets) and localhost: traffic that never leaves this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  if (name === 'localhost' || name === '::1' || name === '[::1]') return true;
  return isIPv4(name) && name.startsWith('127.');
}
