import { parseRedisAddress } from '../../core/text/redis-address.ts';
import type { ChannelConfig } from '../channel-types.ts';
import type { Config, OutletConfig } from '../types.ts';

/** A secret value and the setting that it comes from. */
export interface Secret {
  /** The setting and the workspace, channel or outlet that it belongs to: `secret_key of workspace ws-1`. */
  setting: string;
  value: string;
}

/** Returns every secret value of a configuration once, for the redactor. None of them is empty. */
export function secretsOf(config: Config): string[] {
  return [...new Set(namedSecrets(config).map(({ value }) => value))];
}

/** Returns all secrets that are set, with their settings. */
export function namedSecrets(config: Config): Secret[] {
  const secrets = [
    ...config.workspaces.flatMap(({ id, keys }) =>
      toSecrets(
        `secret_key of workspace ${id}`,
        keys.map(({ secretKey }) => secretKey),
      ),
    ),
    ...config.alerts.channels.flatMap((channel) => channelSecrets(channel)),
    ...config.heartbeats.flatMap(({ url }) =>
      toSecrets('the url of a heartbeat', [...pathSecrets(url), ...querySecrets(url)]),
    ),
    ...config.outlets.flatMap((outlet) => outletSecrets(outlet)),
    ...toSecrets('s3.secret_access_key', [config.s3?.secretAccessKey ?? '']),
    ...toSecrets('http.token', [config.http.token ?? '']),
    ...config.http.tokens.flatMap(({ name, token }) => toSecrets(`token ${name} of http.tokens`, [token])),
    ...toSecrets('http.oidc.client_secret', [config.http.oidc?.clientSecret ?? '']),
    ...toSecrets('the password in redis_url', redisPasswords(config.redisUrl)),
    ...toSecrets('the password in the address of the proxy', urlPasswords(config.proxy?.url ?? null)),
    ...toSecrets('the password in publish.url', urlPasswords(config.publish?.url ?? null)),
  ];
  return secrets.filter(({ value }) => value !== '');
}

function toSecrets(setting: string, values: readonly string[]): Secret[] {
  return values.map((value) => ({ setting, value }));
}

function outletSecrets(outlet: OutletConfig): Secret[] {
  const { name } = outlet;
  if (outlet.type !== 'webhook') return toSecrets(`token of outlet ${name}`, [outlet.token ?? '']);
  const signing = toSecrets(`secret of outlet ${name}`, signingSecrets(outlet.secrets));
  return [...signing, ...toSecrets(`url of outlet ${name}`, querySecrets(outlet.url))];
}

/** Shorter parts of an address, such as `true`, do not count as secrets: redacting them would spoil every log line. */
const MIN_URL_SECRET_LENGTH = 8;

function channelSecrets(channel: ChannelConfig): Secret[] {
  const owner = `of channel ${channel.name}`;
  switch (channel.type) {
    case 'log':
      return [];
    case 'webhook':
      return [
        ...toSecrets(`secret ${owner}`, signingSecrets(channel.secrets)),
        ...toSecrets(`url ${owner}`, querySecrets(channel.url)),
      ];
    case 'slack':
    case 'teams':
      // Whoever knows the path can post to the channel.
      return toSecrets(`url ${owner}`, [...pathSecrets(channel.url), ...querySecrets(channel.url)]);
    case 'pagerduty':
      return [
        ...toSecrets(`routing_key ${owner}`, [channel.routingKey]),
        ...toSecrets(`url ${owner}`, querySecrets(channel.url)),
      ];
    case 'email':
      return channel.login === null ? [] : toSecrets(`password ${owner}`, [channel.login.password]);
  }
}

/** Returns each secret with and without its prefix `whsec_`, because the key itself is the part after the prefix. */
function signingSecrets(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => [secret, secret.replace(/^whsec_/, '')]);
}

function pathSecrets(url: string): string[] {
  const { pathname } = new URL(url);
  return [pathname, pathname.split('/').at(-1) ?? ''].filter((part) => part.length >= MIN_URL_SECRET_LENGTH);
}

/** Returns each value of the address's query, percent-encoded and decoded. */
function querySecrets(url: string): string[] {
  const { search, searchParams } = new URL(url);
  const pairs = search.slice(1).split('&');
  const written = pairs.map((pair) => pair.slice(pair.indexOf('=') + 1));
  return [...written, ...searchParams.values()].filter((value) => value.length >= MIN_URL_SECRET_LENGTH);
}

/**
 * Returns the password in a Redis address, percent-encoded and decoded. Our own parser reads a socket address, because
 * `URL` finds no password in an address without a host.
 */
function redisPasswords(address: string | null): string[] {
  const parsed = address === null ? '' : parseRedisAddress(address);
  if (typeof parsed === 'string' || parsed.kind === 'url') return urlPasswords(address);
  return [...new Set([parsed.password, encodeURIComponent(parsed.password)])];
}

function urlPasswords(address: string | null): string[] {
  if (address === null) return [];
  const url = new URL(address);
  return [url.password, percentDecoded(url.password), url.searchParams.get('password') ?? ''];
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
