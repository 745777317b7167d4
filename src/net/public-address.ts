import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { once } from '../core/one-at-a-time.ts';

/**
 * Descriptions of the address ranges that ipaddr.js names. A range that is not listed here is described as "reserved".
 * Only addresses in the range `unicast` can be public.
 */
const KIND_BY_RANGE: Readonly<Record<string, string>> = {
  unspecified: 'unspecified',
  loopback: 'loopback',
  private: 'private',
  uniqueLocal: 'private',
  carrierGradeNat: "a carrier's internal one",
  linkLocal: 'link-local',
  deprecatedSiteLocal: 'site-local',
  multicast: 'multicast',
  benchmarking: 'for benchmarking only',
  amt: 'reserved for protocols',
  as112: 'reserved for protocols',
  as112v6: 'reserved for protocols',
  // IPv6 addresses that contain an IPv4 address are always refused, even if the IPv4 address is public. The receiver
  // can be configured by the IPv4 address itself.
  ipv4Mapped: 'an IPv4 address mapped into IPv6',
  rfc6145: 'an IPv4 address inside IPv6',
  rfc6052: 'an IPv4 address behind NAT64',
  '6to4': 'an IPv4 address behind 6to4',
  teredo: 'an IPv4 address behind Teredo',
};

/** The kind of addresses at which a cloud itself answers. One of them, 168.63.129.16 of Azure, is in a public range. */
const METADATA_SERVICE = "a cloud's metadata service";
// The networks are parsed on first use, because most commands check no address.
const metadata = once(() =>
  rangesOf({ [METADATA_SERVICE]: ['169.254.169.254/32', '168.63.129.16/32', 'fd00:ec2::254/128'] }),
);

/** The purposes of ranges that ipaddr.js calls "reserved" or does not name. */
const reserved = once(() =>
  rangesOf({
    'for documentation only': ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
    'for benchmarking only': ['198.18.0.0/15'],
    'a 6to4 relay': ['192.88.99.0/24'],
    'reserved for protocols': ['192.0.0.0/24', '2001::/23'],
    'an IPv4 address inside IPv6': ['::/96'],
  }),
);

/** The only range of IPv6 addresses that are assigned to the public internet. */
const assignedIpv6 = once(() => ipaddr.parseCIDR('2000::/3'));

/**
 * Returns the kind of an address that is not public, such as `private` or `link-local`; null if the address is public.
 * `address` is an IP address from a resolver or from `URL.hostname`, with or without brackets and a zone. Returns `not
 * an IP address` for any other text.
 */
export function nonPublicKind(address: string): string | null {
  const bare = address.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  const family = isIP(bare);
  if (family === 0) return 'not an IP address';
  // URL rewrites an IPv6 address as hexadecimal groups. Without this, ipaddr.js would read ::127.0.0.1 as
  // ::ffff:127.0.0.1.
  const parsed = ipaddr.parse(family === 6 ? new URL(`http://[${bare}]`).hostname.slice(1, -1) : bare);
  if (ipaddr.subnetMatch(parsed, metadata(), '') !== '') return METADATA_SERVICE;
  const range = parsed.range();
  const isAssigned = range === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(assignedIpv6()));
  return isAssigned ? null : (KIND_BY_RANGE[range] ?? ipaddr.subnetMatch(parsed, reserved(), 'reserved'));
}

function rangesOf(networks: Record<string, string[]>): Record<string, ReturnType<typeof ipaddr.parseCIDR>[]> {
  const entries = Object.entries(networks).map(([kind, list]) => [kind, list.map((one) => ipaddr.parseCIDR(one))]);
  return Object.fromEntries(entries);
}
