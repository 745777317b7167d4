import { BlockList, isIP, isIPv4 } from 'node:net';
import { oncePerKey } from '../one-at-a-time.ts';

type Ranges = readonly (readonly [network: string, prefix: number, kind: string])[];

/** Ranges of IPv4 that are not public, and what each is for. The first one that fits names the address. */
const IPV4_RANGES: Ranges = [
  ['0.0.0.0', 8, 'unspecified'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, "a carrier's internal one"],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.169.254', 32, "a cloud's metadata service"],
  ['169.254.0.0', 16, 'link-local'],
  // Not in any reserved range, but answered by the host of each virtual machine of Azure.
  ['168.63.129.16', 32, "a cloud's metadata service"],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'reserved for protocols'],
  ['192.0.2.0', 24, 'for documentation only'],
  ['192.88.99.0', 24, 'a 6to4 relay'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'for benchmarking only'],
  ['198.51.100.0', 24, 'for documentation only'],
  ['203.0.113.0', 24, 'for documentation only'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'reserved'],
];

/**
 * The same for IPv6. Forms that carry an IPv4 address inside are refused whole, public ones too: who writes or resolves
 * one of them would have been asked for the IPv4 address itself.
 */
const IPV6_RANGES: Ranges = [
  ['::1', 128, 'loopback'],
  ['::', 128, 'unspecified'],
  ['::ffff:0:0', 96, 'an IPv4 address mapped into IPv6'],
  ['::', 96, 'an IPv4 address inside IPv6'],
  ['64:ff9b::', 96, 'an IPv4 address behind NAT64'],
  ['64:ff9b:1::', 48, 'an IPv4 address behind NAT64'],
  ['2001::', 32, 'an IPv4 address behind Teredo'],
  ['2001:2::', 48, 'for benchmarking only'],
  ['2001:db8::', 32, 'for documentation only'],
  ['2001::', 23, 'reserved for protocols'],
  ['2002::', 16, 'an IPv4 address behind 6to4'],
  ['3fff::', 20, 'for documentation only'],
  ['fd00:ec2::254', 128, "a cloud's metadata service"],
  ['fc00::', 7, 'private'],
  ['fe80::', 10, 'link-local'],
  ['fec0::', 10, 'site-local'],
  ['ff00::', 8, 'multicast'],
];

/** Of IPv6 only this is given to anybody; what lies outside and has no name of its own is reserved. */
const GLOBAL_IPV6: Ranges = [['2000::', 3, 'public']];

/**
 * What kind of address this is when it is not a public one, in words such as `private` or `link-local`; null for a
 * public one. `address` is an IP address as a resolver or `URL.hostname` gives it, brackets and zone included; anything
 * else counts as `not an IP address`.
 */
export function nonPublicKind(address: string): string | null {
  const bare = address.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  if (isIPv4(bare)) return kindAmong(IPV4_RANGES, bare);
  if (isIP(bare) !== 6) return 'not an IP address';
  const kind = kindAmong(IPV6_RANGES, bare);
  if (kind !== null) return kind;
  return kindAmong(GLOBAL_IPV6, bare) === null ? 'reserved' : null;
}

function kindAmong(among: Ranges, address: string): string | null {
  return listsOf(among).find(({ list }) => list.check(address, familyOf(address)))?.kind ?? null;
}

/** Made when the first address is judged: no start waits for it. */
const listsOf = oncePerKey((ranges: Ranges) =>
  ranges.map(([network, prefix, kind]) => {
    const list = new BlockList();
    list.addSubnet(network, prefix, familyOf(network));
    return { kind, list };
  }),
);

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}

/** Where secrets may be sent: over https, or over http to this very machine. */
export function isHttpsOrLoopback(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

/** Where on this machine a program is reached that listens on a host, which may be every address. */
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
