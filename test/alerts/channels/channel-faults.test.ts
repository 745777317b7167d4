import { expect, onTestFinished, test } from 'vitest';
import { reportChannelHealth } from '../../../src/alerts/channels/channel-faults.ts';
import type { ChannelConfig } from '../../../src/config/channel-types.ts';
import { checkChannels } from '../../../src/operations/doctor/check-channels.ts';
import { deliverWaiting, messages } from '../../support/messages.ts';
import { openLedger } from '../../support/open-ledger.ts';
import { notifying } from '../../support/run/real-run.ts';
import { startFixture } from '../../support/sandbox-fixture.ts';
import { type Receiver, startReceiver } from './receiver.ts';

test('a channel that loses notifications is one piece of news on the others until it works, and doctor fails', async () => {
  const world = await startWorld();
  await world.jump('a', 16_000);
  await world.jump('b', 17_000);
  expect(world.failing.received).toHaveLength(2);
  expect(world.notices()).toEqual([
    expect.stringMatching(
      /^Channel failing fails\. HTTP 400\. 1 alert was not delivered; the newest is "a \(ws-1\): 16,000 credits in March, limit 15,000"\. Once it works, run `usage-ledger alerts replay --all-dead`\.$/,
    ),
  ]);
  const findings = await checkChannels(world.config);
  expect(findings).toContainEqual({
    ...{ check: 'channel', subject: 'failing', status: 'fail' },
    message: '2 messages given up; last error: HTTP 400',
    remedy: 'list them with `usage-ledger alerts replay`, and send them again with `--all-dead`',
  });

  world.clock.set(world.clock.now() + 24 * 3_600_000);
  await world.jump('c', 18_000);
  expect(world.notices()).toHaveLength(1);
});

test('two channels that both refuse everything tell each other once, and no more', async () => {
  const world = await startWorld(400);
  await world.jump('a', 16_000);
  await world.deliverAll();
  await world.deliverAll();
  const notices = messages(world.view()).filter(({ payload }) => payload.rule === 'job_failed');
  expect(notices).toHaveLength(2);
  for (const { payload } of notices) expect(payload.summary).toMatch(/the newest is "a \(ws-1\): 16,000 /);
});

test('a notice about a channel quotes what usage did, and no notice about another channel', async () => {
  const world = await startWorld(400);
  await world.jump('a', 16_000);
  await world.deliverAll();
  const third = world.another(({ alerts, ...config }) => ({
    ...config,
    alerts: { channels: [...alerts.channels, { type: 'log', name: 'third' }] },
  }));
  await third.evaluateAll();
  const { connection } = openLedger(world.config.ledger.path);
  for (const reason of [null, 'HTTP 400'])
    reportChannelHealth(connection, { channel: 'other', reason }, notifying(connection, world.clock.now()));
  await third.compose();
  const told = messages(connection).filter(
    ({ channel, payload }) => channel === 'third' && payload.cause === 'channel:other',
  );
  expect(told.at(-1)?.payload.summary).toMatch(/2 alerts were not delivered; the newest is "a \(ws-1\): 16,000 /);
});

async function startWorld(otherStatus = 204) {
  const failing = await startReceiver((response) => response.writeHead(400).end());
  const other = await startReceiver((response) => response.writeHead(otherStatus).end());
  onTestFinished(failing.close);
  onTestFinished(other.close);
  const hook = (name: string, { url }: Receiver): ChannelConfig => ({
    ...{ type: 'webhook', name, url, secrets: [], allowPrivate: true, timeoutMs: 10_000 },
  });
  const fixture = await startFixture({ channels: [hook('failing', failing), hook('other', other)] });
  const { clock, upstream, context } = fixture;
  for (const tenantId of ['a', 'b', 'c']) {
    for (const period of ['2026-01', '2026-02']) upstream.set({ tenantId, period, credits: 10_000, requests: 10 });
    upstream.set({ tenantId, period: '2026-03', credits: 3_000, requests: 10 });
  }
  clock.set(Date.UTC(2026, 2, 16));
  await fixture.sync();
  const deliverAll = () => deliverWaiting(context);
  return {
    ...{ ...fixture, failing, deliverAll },
    notices: () =>
      other.received
        .map(({ body }) => JSON.parse(String(body)))
        .filter(({ rule }) => rule === 'job_failed')
        .map(({ summary }) => summary),
    async jump(tenantId: string, credits: number): Promise<void> {
      upstream.set({ tenantId, period: '2026-03', credits, requests: 10 });
      await fixture.sync();
      await deliverAll();
      await deliverAll();
    },
  };
}
