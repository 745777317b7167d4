import { AppError } from '../../core/errors.ts';
import { isHttpsOrLoopback } from '../../net/local-address.ts';

/**
 * Returns the address of a channel. Throws `channel_url_refused` if it may not be called: it must be https, or http on
 * this machine, without user and password. Such an address is often a secret, so errors name the channel instead.
 */
export function requireChannelUrl({ name, url }: { name: string; url: string }): URL {
  const refuse = (fault: string, hint: string) =>
    new AppError('channel_url_refused', `the url of channel ${JSON.stringify(name)} ${fault}`, { hint });
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['https:', 'http:'].includes(parsed.protocol)) {
    throw refuse('is not a web address', 'write it as https://host/path');
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw refuse('carries a user or password', 'remove them; set `secret` to sign the notifications');
  }
  if (!isHttpsOrLoopback(parsed)) {
    throw refuse('is not encrypted', 'use https://; http:// is only for receivers on this machine');
  }
  return parsed;
}
