import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { localUrl } from '../../src/net/local-address.ts';
import { nonPublicKind } from '../../src/net/public-address.ts';

test.each([
  ['127.0.0.1', 'http://127.0.0.1:9464'],
  ['localhost', 'http://localhost:9464'],
  ['0.0.0.0', 'http://127.0.0.1:9464'],
  ['::', 'http://127.0.0.1:9464'],
  ['::1', 'http://[::1]:9464'],
  ['[::1]', 'http://[::1]:9464'],
])('what listens on %s is reached at %s', (host, url) => {
  expect(localUrl(host, 9464)).toBe(url);
});

describe('an address is not public', () => {
  test.each([
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['10.255.255.255', 'private'],
    ['100.64.0.1', "a carrier's internal one"],
    ['100.127.255.255', "a carrier's internal one"],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['168.63.129.16', "a cloud's metadata service"],
    ['169.254.169.254', "a cloud's metadata service"],
    ['169.254.0.1', 'link-local'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.192', 'reserved for protocols'],
    ['192.0.2.1', 'for documentation only'],
    ['192.31.196.1', 'reserved for protocols'],
    ['192.52.193.1', 'reserved for protocols'],
    ['192.88.99.1', 'a 6to4 relay'],
    ['192.175.48.1', 'reserved for protocols'],
    ['192.168.1.1', 'private'],
    ['198.18.0.1', 'for benchmarking only'],
    ['198.19.255.255', 'for benchmarking only'],
    ['198.51.100.7', 'for documentation only'],
    ['203.0.113.9', 'for documentation only'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'reserved'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['[::1]', 'loopback'],
    ['::ffff:127.0.0.1', 'an IPv4 address mapped into IPv6'],
    ['::ffff:8.8.8.8', 'an IPv4 address mapped into IPv6'],
    ['::127.0.0.1', 'an IPv4 address inside IPv6'],
    ['::ffff:0:10.0.0.1', 'an IPv4 address inside IPv6'],
    ['64:ff9b::a00:1', 'an IPv4 address behind NAT64'],
    ['64:ff9b:1::a00:1', 'an IPv4 address behind NAT64'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'an IPv4 address behind Teredo'],
    ['2002:7f00:1::', 'an IPv4 address behind 6to4'],
    ['2001:2::1', 'for benchmarking only'],
    ['2001:10::1', 'reserved for protocols'],
    ['2001:db8::1', 'for documentation only'],
    ['3fff::1', 'for documentation only'],
    ['fd00:ec2::254', "a cloud's metadata service"],
    ['fc00::1', 'private'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['fec0::1', 'site-local'],
    ['ff02::1', 'multicast'],
    ['4000::1', 'reserved'],
    ['100::1', 'reserved'],
    ['localhost', 'not an IP address'],
    ['0x7f.1', 'not an IP address'],
    ['', 'not an IP address'],
  ])('%s: %s', (address, kind) => {
    expect(nonPublicKind(address)).toBe(kind);
  });
});

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.0.1',
  '172.32.0.1',
  '192.0.1.1',
  '223.255.255.255',
])('%s is public', (address) => {
  expect(nonPublicKind(address)).toBeNull();
});

test.each(['2606:4700:4700::1111', '2a00:1450:4001::8a', '2001:4860:4860::8888', '[2620:fe::fe]'])(
  '%s is public',
  (address) => {
    expect(nonPublicKind(address)).toBeNull();
  },
);

test('a private IPv4 address stays private when it is written as IPv6', () => {
  const forms = [
    (high: string, low: string) => `::ffff:${high}:${low}`,
    (high: string, low: string) => `::${high}:${low}`,
    (high: string, low: string) => `::ffff:0:${high}:${low}`,
    (high: string, low: string) => `64:ff9b::${high}:${low}`,
    (high: string, low: string) => `64:ff9b:1::${high}:${low}`,
    (high: string, low: string) => `2002:${high}:${low}::1`,
    (high: string, low: string) => `2001:0:${high}:${low}::1`,
  ];
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0, max: 0xffff }), (high, low) => {
      for (const form of forms) {
        const address = form(high.toString(16), low.toString(16));
        expect(nonPublicKind(address), address).not.toBeNull();
      }
    }),
  );
});
