import { isIPv4 } from 'node:net';

/** True for 127.0.0.0/8, ::1 (with or without brackets) and localhost: traffic that never leaves this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  if (name === 'localhost' || name === '::1' || name === '[::1]') return true;
  return isIPv4(name) && name.startsWith('127.');
}
