import { parseRedisAddress } from '../../core/net/redis-address.ts';
import type { ChannelConfig } from '../channel-types.ts';
import type { Config, OutletConfig } from '../types.ts';

/** A secret value and the setting that it comes from. */
export interface Secret {
  /** As the configuration names it, with the workspace, channel or outlet that has it: `secret_key of workspace ws-1`. */
  setting: string;
  value: string;
}

/** Every secret value of a configuration, for the redactor; none is empty, none is there twice. */
export function secretsOf(config: Config): string[] {
  return [...new Set(namedSecrets(config).map(({ value }) => value))];
}

/** All secrets that are set, each with its setting. */
export function namedSecrets(config: Config): Secret[] {
  const secrets = [
    ...config.workspaces.flatMap(({ id, keys }) =>
      named(
        `secret_key of workspace ${id}`,
        keys.map(({ secretKey }) => secretKey),
      ),
    ),
    ...config.alerts.channels.flatMap((channel) => channelSecrets(channel)),
    ...config.heartbeats.flatMap(({ url }) =>
      named('the url of a heartbeat', [...pathSecrets(url), ...querySecrets(url)]),
    ),
    ...config.outlets.flatMap((outlet) => outletSecrets(outlet)),
    ...named('s3.secret_access_key', [config.s3?.secretAccessKey ?? '']),
    ...named('http.token', [config.http.token ?? '']),
    ...named('the password in redis_url', redisPasswords(config.redisUrl)),
    ...named('the password in the address of the proxy', urlPasswords(config.proxy?.url ?? null)),
    ...named('the password in publish.url', urlPasswords(config.publish?.url ?? null)),
  ];
  return secrets.filter(({ value }) => value !== '');
}

function named(setting: string, values: readonly string[]): Secret[] {
  return values.map((value) => ({ setting, value }));
}

function outletSecrets(outlet: OutletConfig): Secret[] {
  const { name } = outlet;
  if (outlet.type !== 'webhook') return named(`token of outlet ${name}`, [outlet.token ?? '']);
  const signing = named(`secret of outlet ${name}`, signingSecrets(outlet.secrets));
  return [...signing, ...named(`url of outlet ${name}`, querySecrets(outlet.url))];
}

/** Shorter parts of an address, such as `true`, are no secrets, and blotting them out would spoil every line of the log. */
const SHORTEST_URL_SECRET = 8;

function channelSecrets(channel: ChannelConfig): Secret[] {
  const owner = `of channel ${channel.name}`;
  switch (channel.type) {
    case 'log':
      return [];
    case 'webhook':
      return [
        ...named(`secret ${owner}`, signingSecrets(channel.secrets)),
        ...named(`url ${owner}`, querySecrets(channel.url)),
      ];
    case 'slack':
    case 'teams':
      // Whoever knows the path may post.
      return named(`url ${owner}`, [...pathSecrets(channel.url), ...querySecrets(channel.url)]);
    case 'pagerduty':
      return [
        ...named(`routing_key ${owner}`, [channel.routingKey]),
        ...named(`url ${owner}`, querySecrets(channel.url)),
      ];
    case 'email':
      return channel.login === null ? [] : named(`password ${owner}`, [channel.login.password]);
  }
}

/** The prefix is only a mark: what follows it is the key itself. */
function signingSecrets(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => [secret, secret.replace(/^whsec_/, '')]);
}

function pathSecrets(url: string): string[] {
  const { pathname } = new URL(url);
  return [pathname, pathname.split('/').at(-1) ?? ''].filter((part) => part.length >= SHORTEST_URL_SECRET);
}

/** Each value as it stands in the address and as it is meant. */
function querySecrets(url: string): string[] {
  const { search, searchParams } = new URL(url);
  const pairs = search.slice(1).split('&');
  const written = pairs.map((pair) => pair.slice(pair.indexOf('=') + 1));
  return [...written, ...searchParams.values()].filter((value) => value.length >= SHORTEST_URL_SECRET);
}

/** The password of a socket's address is not read by `URL`: it may stand before a path without a host. */
function redisPasswords(address: string | null): string[] {
  const parsed = address === null ? '' : parseRedisAddress(address);
  if (typeof parsed === 'string' || parsed.kind === 'url') return urlPasswords(address);
  return [...new Set([parsed.password, encodeURIComponent(parsed.password)])];
}

function urlPasswords(address: string | null): string[] {
  if (address === null) return [];
  const url = new URL(address);
  return [url.password, decoded(url.password), url.searchParams.get('password') ?? ''];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
