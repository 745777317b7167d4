import type { ChannelConfig, Config, OutletConfig } from '../types.ts';

/** Every secret value of a configuration, for the redactor; none is empty, none is there twice. */
export function secretsOf(config: Config): string[] {
  const secrets = [
    ...config.workspaces.flatMap(({ keys }) => keys.map(({ secretKey }) => secretKey)),
    ...config.alerts.channels.flatMap(channelSecrets),
    ...config.heartbeats.flatMap(({ url }) => [...pathSecrets(url), ...querySecrets(url)]),
    ...config.outlets.flatMap(outletSecrets),
    config.s3?.secretAccessKey ?? '',
    config.http.token ?? '',
    ...urlPasswords(config.redisUrl),
    ...urlPasswords(config.proxy?.url ?? null),
    ...urlPasswords(config.publish?.url ?? null),
  ];
  return [...new Set(secrets)].filter((secret) => secret !== '');
}

function outletSecrets(outlet: OutletConfig): string[] {
  if (outlet.type === 'webhook') return [...signingSecrets(outlet.secrets), ...querySecrets(outlet.url)];
  return [outlet.token ?? ''];
}

/** Shorter parts of an address, such as `true`, are no secrets, and blotting them out would spoil every line of the log. */
const SHORTEST_URL_SECRET = 8;

function channelSecrets(channel: ChannelConfig): string[] {
  switch (channel.type) {
    case 'log':
      return [];
    case 'webhook':
      return [...signingSecrets(channel.secrets), ...querySecrets(channel.url)];
    case 'slack':
    case 'teams':
      // Whoever knows the path may post.
      return [...pathSecrets(channel.url), ...querySecrets(channel.url)];
    case 'pagerduty':
      return [channel.routingKey, ...querySecrets(channel.url)];
    case 'email':
      return channel.login === null ? [] : [channel.login.password];
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
