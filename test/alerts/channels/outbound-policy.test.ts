import { expect, test } from 'vitest';
import type { Channel, DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import { createEmailChannel } from '../../../src/alerts/channels/email-channel.ts';
import { createSlackChannel } from '../../../src/alerts/channels/slack-channel.ts';
import { createWebhookChannel } from '../../../src/alerts/channels/webhook-channel.ts';
import type { Resolve } from '../../../src/net/address-guard.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { watchConnects } from './connect-watch.ts';

const PUBLIC = '93.184.215.14';
const OUTBOUND = { name: 'hook', allowPrivate: false, timeoutMs: 2000 };
const clock = clockThat(() => Date.UTC(2026, 1, 20, 12));

/** Hosts as an attacker would write them into the address of a channel. */
const LITERALS = [
  // This machine, in every spelling that a URL parser or the C library understands.
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.0x0.0x0.0x1',
  '0x7f.1',
  '017700000001',
  '0177.0.0.1',
  '0177.0x0.1',
  '127.0.0.1.',
  '%31%32%37.0.0.1',
  '１２７.０.０.１',
  '127。0。0。1',
  '0',
  '0.0.0.0',
  '0x0',
  // Inside the network.
  '10.0.0.1',
  '0xa000001',
  '167772161',
  '012.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '0xc0.0xa8.0.1',
  '3232235521',
  '100.64.0.1',
  // Metadata and link-local.
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  // Reserved.
  '192.0.2.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  // IPv6, alone and with an IPv4 address inside.
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:169.254.169.254]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::10.0.0.1]',
  '[2002:7f00:1::]',
  '[2001:0:4136:e378:8000:63bf:80ff:fffe]',
  '[fd00:ec2::254]',
  '[fc00::1]',
  '[fe80::1]',
  '[ff02::1]',
];

/** Names that point inside, and what a resolver says of them. */
const NAMES: Record<string, string[]> = {
  'inside.example.com': ['127.0.0.1'],
  'metadata.example.com': ['169.254.169.254'],
  'six.example.com': ['::1'],
  'mapped.example.com': ['::ffff:127.0.0.1'],
  'nat64.example.com': ['64:ff9b::7f00:1'],
  'both.example.com': ['10.0.0.1', 'fd00::1'],
  'zone.example.com': ['fe80::1%lo'],
  'localhost.example.com': ['127.0.0.1', '::1'],
};

const TARGETS = [...LITERALS, ...Object.keys(NAMES)];

const resolve: Resolve = async (host) => {
  // The C library reads the odd spellings of IPv4, too; the parser of addresses has done so for the others.
  const addresses =
    NAMES[host] ?? (new URL(`http://${host}`).hostname === host ? [] : [new URL(`http://${host}`).hostname]);
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
};

function deliver(channel: Channel): Promise<DeliveryResult> {
  const message = { notificationId: 'msg_1', payload: '{"summary":"x"}', attempt: 1 };
  return channel.deliver(message, { signal: new AbortController().signal });
}

const webhook = (url: string, policy: object = {}) =>
  createWebhookChannel({ ...OUTBOUND, url, secrets: [], ...policy }, { clock, resolve });
const slack = (url: string) => createSlackChannel({ ...OUTBOUND, url }, { clock, resolve });
const email = (host: string, port: number, own: Resolve = resolve) =>
  createEmailChannel(
    {
      ...OUTBOUND,
      host,
      port,
      tls: 'starttls',
      allowInsecure: true,
      login: null,
      from: 'a@example.com',
      to: ['b@example.com'],
    },
    { resolve: own },
  );

test('no channel connects to any of more than sixty hostile targets, and each says why', async () => {
  expect(TARGETS.length).toBeGreaterThanOrEqual(60);
  const watch = await watchConnects();
  for (const target of TARGETS) {
    for (const channel of [
      webhook(`https://${target}:${watch.port}/hook`),
      slack(`https://${target}:${watch.port}/hook`),
    ]) {
      expect(await deliver(channel), `${channel.type} ${target}`).toEqual({
        outcome: 'rejected',
        reason: expect.stringMatching(/not public .*allow_private: true/),
      });
    }
  }
  expect(watch.attempts).toEqual([]);
  expect(watch.accepted()).toBe(0);
});

test('neither does e-mail, whose server is named without an address parser in between', async () => {
  const watch = await watchConnects();
  const hosts = TARGETS.map((target) => target.replace(/^\[(.*)\]$/, '$1')).filter(
    (host) => !/[%\u0100-\uffff]/.test(host),
  );
  expect(hosts.length).toBeGreaterThan(50);
  for (const host of hosts) {
    expect(await deliver(email(host, watch.port)), host).toEqual({
      outcome: 'rejected',
      reason: expect.stringMatching(/not public .*allow_private: true/),
    });
  }
  expect(watch.attempts).toEqual([]);
  expect(watch.accepted()).toBe(0);
});

test('loopback over http:// is refused as well, unless the channel allows it: then it is connected to', async () => {
  const watch = await watchConnects();
  const url = `http://127.0.0.1:${watch.port}/hook`;
  expect(await deliver(webhook(url))).toMatchObject({ outcome: 'rejected' });
  expect(watch.attempts).toEqual([]);

  expect(await deliver(webhook(url, { allowPrivate: true }))).toMatchObject({ outcome: 'retry' });
  expect(watch.attempts).toEqual(['127.0.0.1']);
  expect(watch.accepted()).toBe(1);
});

test('a name that resolves to something else a moment later gains nothing: what was judged is connected to', async () => {
  const watch = await watchConnects();
  for (const make of [
    (own: Resolve) =>
      createWebhookChannel(
        { ...OUTBOUND, url: `https://rebinding.example.com:${watch.port}/`, secrets: [] },
        { clock, resolve: own },
      ),
    (own: Resolve) => email('rebinding.example.com', watch.port, own),
  ]) {
    watch.attempts.length = 0;
    let asked = 0;
    const rebinding: Resolve = async () => {
      asked += 1;
      return [{ address: asked === 1 ? PUBLIC : '127.0.0.1', family: 4 }];
    };
    const channel = make(rebinding);
    expect(await deliver(channel)).toMatchObject({ outcome: 'retry' });
    expect({ asked, attempts: watch.attempts }).toEqual({ asked: 1, attempts: [PUBLIC] });
    expect(await deliver(channel)).toMatchObject({ outcome: 'rejected' });
    expect(watch.attempts).toEqual([PUBLIC]);
  }
  expect(watch.accepted()).toBe(0);
});

test('of a name with public and internal addresses only the public ones are tried', async () => {
  const watch = await watchConnects();
  const mixed: Resolve = async () => [
    { address: '127.0.0.1', family: 4 },
    { address: PUBLIC, family: 4 },
    { address: '::1', family: 6 },
  ];
  const config = { ...OUTBOUND, url: `https://mixed.example.com:${watch.port}/`, secrets: [] };
  expect(await deliver(createWebhookChannel(config, { clock, resolve: mixed }))).toMatchObject({ outcome: 'retry' });
  expect(watch.attempts).toEqual([PUBLIC]);
});
