import { expect, onTestFinished, test } from 'vitest';
import type { ChannelConfig, RouteConfig } from '../../../src/config/channel-types.ts';
import { RULES, SEVERITIES } from '../../../src/core/text/alert-words.ts';
import { countByState, deliverWaiting } from '../../support/messages.ts';
import { rejection } from '../../support/rejection.ts';
import { manualOrder, startFixture } from '../../support/sandbox-fixture.ts';
import { startReceiver } from '../channels/receiver.ts';

test('final figures, and the end of an alert, wait for the daily summary at seven', async () => {
  const world = await startWorld();
  await world.syncAt('2026-03-16T02:00:00Z', ['a', 16_000]);
  await world.syncAt('2026-03-16T03:00:00Z', ['new', 5_000]);
  await world.syncAt('2026-03-16T04:00:00Z', ['new', 0]);
  await world.syncAt('2026-03-16T05:00:00Z');
  expect(world.told()).toEqual([
    expect.stringMatching(/^a \(ws-1\): .* limit 15,000/),
    expect.stringMatching(/^new \(ws-1\): new, /),
    expect.stringMatching(/^new \(ws-1\): lost/),
  ]);
  await world.deliverAt('2026-03-16T07:00:00Z');
  expect(world.told().slice(3)).toEqual(['Daily summary of 2026-03-16 07:00 UTC: 1 alert closed.']);

  await world.syncAt('2026-04-03T01:00:00Z');
  expect(world.told()).toHaveLength(4);
  await world.deliverAt('2026-04-03T07:00:00Z');
  expect(world.digests().at(-1)).toMatchObject([
    { summary: expect.stringMatching(/^a \(ws-1\): .* has settled/) },
    { summary: 'new (ws-1): March loss of credits closed, 0 credits. March has settled without the lost 5,000.' },
  ]);
});

test('a settled jump that was not sent before is sent at once', async () => {
  const world = await startWorld();
  const writer = await world.context.writer();
  await writer.addSilence({
    ...{ kind: 'silence', workspaceId: null, rule: '*', tenant: 'a', period: '*', upToCredits: null },
    ...{ untilMs: Date.UTC(2026, 2, 20), reason: 'known', by: 'me', nowMs: world.clock.now() },
  });
  await world.syncAt('2026-03-16T02:00:00Z', ['a', 16_000]);
  expect(world.told()).toEqual([]);
  await world.syncAt('2026-04-03T01:00:00Z');
  expect(world.told()).toEqual([expect.stringMatching(/^a \(ws-1\): .* has settled/)]);
});

test('an alert that fires again replaces its pending end, so that no digest is outdated', async () => {
  const world = await startWorld();
  await world.syncAt('2026-03-16T02:00:00Z', ['a', 16_000]);
  await world.syncAt('2026-03-17T01:00:00Z', ['a', 2_000]);
  await world.syncAt('2026-03-17T02:00:00Z');
  expect(world.held()).toBe(1);
  await world.syncAt('2026-03-17T03:00:00Z', ['a', 17_000]);
  await world.syncAt('2026-03-17T04:00:00Z');
  await world.deliverAt('2026-03-17T07:00:00Z');
  expect(world.told().filter((line) => /^a \(ws-1\): \d/.test(line))).toEqual([
    expect.stringMatching(/^a \(ws-1\): 16,000/),
    expect.stringMatching(/^a \(ws-1\): 17,000/),
  ]);
  expect(world.digests().flat()).toEqual([]);
});

test('the end of a system alert is sent at once', async () => {
  const world = await startWorld();
  const stranger = world.another((config) => ({
    ...config,
    workspaces: config.workspaces.map((workspace) => ({
      ...workspace,
      keys: [{ apiKeyId: 'ak_test_1', secretKey: 'sk_wrong_not_a_secret' }],
    })),
  }));
  expect((await rejection(stranger.sync(manualOrder()))).code).toBe('unauthorized');
  await world.deliverAt('2026-03-16T01:30:00Z');
  await world.syncAt('2026-03-16T02:00:00Z');
  expect(world.told()).toEqual([
    expect.stringMatching(/^The service refuses the credentials of ws-1\. /),
    expect.stringMatching(/^The service accepts the credentials of ws-1 again/),
  ]);
});

test('a channel with follow_ups: at_once is sent the end at once', async () => {
  const world = await startWorld({ followUps: 'at_once' });
  await world.syncAt('2026-03-16T02:00:00Z', ['new', 5_000]);
  await world.syncAt('2026-03-16T03:00:00Z', ['new', 0]);
  await world.syncAt('2026-03-16T04:00:00Z');
  expect(world.held()).toBe(0);
  expect(world.told()).toContainEqual(expect.stringMatching(/^new \(ws-1\): March new spend closed.* Under the limit/));
});

async function startWorld(route: Partial<RouteConfig> = {}) {
  const receiver = await startReceiver((response) => response.writeHead(204).end());
  onTestFinished(receiver.close);
  const channel: ChannelConfig = {
    ...{ type: 'webhook', name: 'hook', url: receiver.url, secrets: [], allowPrivate: true, timeoutMs: 10_000 },
    route: { severities: SEVERITIES, rules: RULES, digestHour: null, followUps: 'digest', ...route },
  };
  const fixture = await startFixture({ channels: [channel] });
  const { clock, upstream, context, config } = fixture;
  for (const period of ['2026-01', '2026-02']) upstream.set({ tenantId: 'a', period, credits: 10_000, requests: 10 });
  upstream.set({ tenantId: 'a', period: '2026-03', credits: 3_000, requests: 10 });
  clock.set(Date.UTC(2026, 2, 16));
  await fixture.sync();
  const bodies = () => receiver.received.map(({ body }) => JSON.parse(String(body)));
  const deliverAt = async (at: string): Promise<void> => {
    clock.set(Date.parse(at));
    await context.compose();
    await deliverWaiting(context);
  };
  return {
    ...{ ...fixture, deliverAt },
    told: (): string[] => bodies().map(({ summary }) => summary),
    digests: () => bodies().flatMap(({ alerts }) => (alerts === undefined ? [] : [alerts])),
    held: () => countByState(config.ledger.path).held ?? 0,
    async syncAt(at: string, ...changes: [string, number][]): Promise<void> {
      clock.set(Date.parse(at));
      for (const [tenantId, credits] of changes) {
        upstream.set({ tenantId, period: '2026-03', credits, requests: 10 });
      }
      await fixture.sync();
      await deliverAt(at);
    },
  };
}
