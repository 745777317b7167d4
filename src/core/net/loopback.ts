import { isIPv4 } from 'node:net';

/** Where secrets may be sent: over https, or over http to this very machine. */
export function isHttpsOrLoopback(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

/** True for 127.0.0.0/8, ::1 (with or without brackets) and localhost: traffic that never leaves this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  if (name === 'localhost' || name === '::1' || name === '[::1]') return true;
  return isIPv4(name) && name.startsWith('127.');
}
