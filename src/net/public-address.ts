import { BlockList, isIP, isIPv4 } from 'node:net';
import { oncePerKey } from '../core/one-at-a-time.ts';

type Ranges = readonly (readonly [network: string, prefix: number, kind: string])[];

/** Ranges of IPv4 that are not public, with their purpose. The first one that contains an address names it. */
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
 * The same for IPv6. Forms that contain an IPv4 address are refused whole, public ones too: a receiver is addressed by
 * its IPv4 address instead.
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

/** The only range of IPv6 that is assigned to anybody; the rest is reserved. */
const GLOBAL_IPV6: Ranges = [['2000::', 3, 'public']];

/**
 * Returns the kind of an address that is not public, in words such as `private` or `link-local`; null for a public one.
 * `address` is an IP address from a resolver or `URL.hostname`, with or without brackets and zone; anything else is
 * `not an IP address`.
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

/** Built when the first address is judged, so that no command waits for it at its start. */
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
