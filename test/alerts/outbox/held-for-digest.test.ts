import { expect, onTestFinished, test } from 'vitest';
import { composeDueMessages } from '../../../src/alerts/outbox/compose-due.ts';
import { findSummaryTimes, toRoutes } from '../../../src/alerts/pipeline/route.ts';
import type { ChannelConfig, RouteConfig } from '../../../src/config/channel-types.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/schema/workspace-settings.ts';
import { RULES, SEVERITIES } from '../../../src/core/text/alert-words.ts';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import type { Context } from '../../../src/wiring/context.ts';
import { countByState, deliverWaiting, messages } from '../../support/messages.ts';
import { type Fixture, startFixture } from '../../support/sandbox-fixture.ts';
import { type Receiver, startReceiver } from '../channels/receiver.ts';

const HOUR_MS = 3_600_000;
const SIGNAL = new AbortController().signal;
const ROUTE: RouteConfig = { severities: SEVERITIES, rules: RULES, digestHour: null, followUps: 'at_once' };
/** February has 20,000 credits: forecasts of 17,000 for a tenant that had 10,000 are warnings. */
const CRITICAL_FROM_7600 = { alerts: { ...DEFAULT_ALERT_RULES, tenants: [], criticalShare: 0.38 } };
/** 16 March: the month is half over, so that its pace can be told. */
const MIDDLE = Date.UTC(2026, 2, 16, 2);

test('one channel is sent critical alerts at once, the other the rest at seven', async () => {
  const world = await startWorld();
  const { pager, finance, upstream } = world;
  await world.syncAt(-22, ['a', 8_500], ['b', 8_500]);
  await world.syncAt(8, ['a', 9_500], ['b', 9_500]);
  // Both are forecast above the limit, as warnings; a then reaches it.
  upstream.set({ tenantId: 'a', period: '2026-03', credits: 16_000, requests: 10 });
  await world.syncAt(22);
  expect(world.told(pager)).toEqual([
    expect.stringMatching(/^a \(ws-1\): 16,000 credits in March, limit 15,000\. February: 10,000\./),
  ]);
  expect(world.told(finance)).toEqual(world.told(pager));
  world.clock.set(Date.UTC(2026, 2, 17, 6, 59, 59));
  await world.deliverAll();
  expect(finance.received).toHaveLength(1);

  world.clock.set(Date.UTC(2026, 2, 17, 7));
  await world.deliverAll();
  expect(pager.received).toHaveLength(1);
  expect(world.told(finance).slice(1)).toEqual(['Daily summary of 2026-03-17 07:00 UTC: 1 alert open.']);
  const digest = JSON.parse(String(finance.received[1]?.body));
  expect(digest.alerts).toMatchObject([
    {
      severity: 'warning',
      state: 'firing',
      summary: expect.stringMatching(/^b \(ws-1\): March forecast/),
      notifications: [{ type: 'alert.firing', tenant_id: 'b', level: 'likely' }],
    },
  ]);
  expect(finance.received[1]?.headers['webhook-id']).toBe(digest.notification_id);

  world.clock.set(Date.UTC(2026, 2, 18, 7));
  await world.deliverAll();
  expect(finance.received).toHaveLength(2);
});

test('an end is sent the way its beginning was: at once, or with the daily summary', async () => {
  const world = await startWorld();
  const { pager, finance } = world;
  await world.syncAt(-22, ['a', 8_500], ['b', 8_500]);
  await world.syncAt(8, ['a', 16_000], ['b', 9_500]);
  expect(world.told(pager)).toHaveLength(1);
  // Nothing more is used: b's pace has fallen below the threshold by the 24th, and the service takes back a's credits.
  world.clock.set(Date.UTC(2026, 2, 17, 7));
  await world.deliverAll();
  await world.syncAt(8 * 24, ['a', 2_000]);
  await world.syncAt(8 * 24 + 1);
  expect(world.told(pager).slice(1)).toEqual([
    expect.stringMatching(/^a \(ws-1\): March jump closed, .* Under the limit/),
  ]);
  expect(world.told(finance).map((line) => line.slice(0, 13))).toEqual([
    'a (ws-1): 16,',
    'Daily summary',
    'a (ws-1): Mar',
  ]);

  world.clock.set(Date.UTC(2026, 2, 25, 7));
  await world.deliverAll();
  const { alerts } = JSON.parse(String(finance.received[3]?.body));
  expect(alerts.map(({ summary }: { summary: string }) => summary.slice(0, 13))).toEqual([
    'a (ws-1): los',
    'b (ws-1): Mar',
  ]);
  expect(pager.received).toHaveLength(2);
});

test('an alert that begins and ends between two digests is not sent', async () => {
  const world = await startWorld();
  await world.syncAt(2);
  await world.syncAt(8, ['new', 5_000]);
  await world.syncAt(9, ['new', 0]);
  await world.syncAt(10);
  world.clock.set(Date.UTC(2026, 2, 17, 7));
  await world.deliverAll();

  expect(world.pager.received).toEqual([]);
  const { alerts } = JSON.parse(String(world.finance.received[0]?.body));
  expect(alerts.map(({ notifications: [told] }: { notifications: { rule: string }[] }) => told?.rule)).toEqual([
    'regression',
  ]);
});

test('a channel is sent no end without a beginning, and a route change ends what was sent', async () => {
  const world = await startWorld({ digestHour: null });
  await world.syncAt(2);
  await world.syncAt(8, ['new', 5_000]);
  expect(world.told(world.finance)).toEqual([expect.stringMatching(/^new \(ws-1\): new, /)]);
  const changed = world.another((config) => ({
    ...config,
    alerts: {
      channels: config.alerts.channels.map((channel) => ({
        ...channel,
        route: { ...ROUTE, ...(channel.name === 'finance' ? { severities: ['critical' as const] } : {}) },
      })),
    },
  }));
  for (const hour of [9, 10]) await world.syncAt(hour, changed, ['new', 0]);
  expect(world.told(world.finance).slice(1)).toEqual([
    'new (ws-1): March new spend no longer sent here. It is still open.',
  ]);
  // The other channel takes warnings now, so it hears of the fallen counter, but not of what one run has found gone.
  expect(world.told(world.pager).filter((line) => /new spend|is new/.test(line))).toEqual([]);
});

test('a channel for warnings is not sent an alert that became critical before its digest', async () => {
  const world = await startWorld({ severities: ['warning'] });
  await world.syncAt(-22, ['a', 8_000]);
  await world.syncAt(8, ['a', 8_500]);
  await world.syncAt(9, ['a', 16_000]);
  await world.syncAt(10, ['a', 2_000]);
  await world.syncAt(11);
  expect(world.told(world.pager).map((line) => line.slice(0, 13))).toEqual(['a (ws-1): 16,', 'a (ws-1): Mar']);
  expect(world.told(world.finance)).toEqual([]);

  world.clock.set(Date.UTC(2026, 2, 17, 7));
  await world.deliverAll();
  const { alerts } = JSON.parse(String(world.finance.received[0]?.body));
  expect(alerts).toMatchObject([{ notifications: [{ rule: 'regression', type: 'alert.firing' }] }]);
});

test('an alert that no route takes is recorded as unrouted', async () => {
  const { clock, upstream, sync, view } = await startFixture({
    channels: [{ type: 'log', name: 'log', route: { ...ROUTE, severities: ['critical'] } }],
    settings: CRITICAL_FROM_7600,
  });
  clock.set(MIDDLE);
  useHistory(upstream);
  await sync();
  upstream.set({ tenantId: 'new', period: '2026-03', credits: 5_000, requests: 1 });
  const { alerts } = await sync();

  expect(alerts).toMatchObject({ due: 0, changes: [{ silent: true, silentBecause: 'unrouted' }] });
  expect(view().value("SELECT muted_because FROM finance_alerts WHERE tenant_id = 'new'")).toBe('unrouted');
});

test('two senders compose one digest, and one that dies after composing loses nothing', async () => {
  const world = await startWorld();
  await world.syncAt(2);
  await world.syncAt(8, ['new', 5_000]);
  const dueMs = findSummaryTimes({ digestHour: 7, timezone: 'UTC' }, world.clock.now()).nextMs;
  const connections = [openForWriting(world.config.ledger.path), openForWriting(world.config.ledger.path)];
  onTestFinished(() => {
    for (const connection of connections) connection.close();
  });
  const routes = toRoutes(world.config.alerts.channels);
  const made = connections.map((connection) => composeDueMessages(connection, { routes, nowMs: dueMs }));
  expect(made).toEqual([1, 0]);
  const [{ id } = { id: '' }] = messages(world.view());
  expect(world.finance.received).toEqual([]);

  // Another process finds it like any other message.
  world.clock.set(dueMs);
  await world.deliverAll();
  expect(world.finance.received.map(({ headers }) => headers['webhook-id'])).toEqual([id]);
  expect(countByState(world.view(), 'finance')).toEqual({ delivered: 1 });
});

test('a pending digest is sent at its hour even if the channel no longer has one, unless the alert is over', async () => {
  const world = await startWorld();
  await world.syncAt(2);
  await world.syncAt(8, ['new', 5_000]);
  const without = world.another((config) => ({
    ...config,
    alerts: { channels: config.alerts.channels.map(({ route: _, ...channel }) => channel) },
  }));
  for (const hour of [9, 10]) await world.syncAt(hour, without, ['new', 0]);
  const early = world.told(world.finance);
  expect(early.filter((line) => /new spend|is new/.test(line))).toEqual([]);
  world.clock.set(Date.UTC(2026, 2, 17, 7));
  await world.deliverAll(without);
  expect(world.told(world.finance)).toEqual(early);
});

test('the digest of a disabled channel is given up, and a replay sends it as one', async () => {
  const world = await startWorld({}, 410, 204);
  await world.syncAt(2);
  await world.syncAt(8, ['new', 5_000], ['newer', 6_000]);
  await world.syncAt(9, ['a', 16_000]);
  const ledger = world.view();
  expect(countByState(ledger, 'finance')).toEqual({ dead: 1, held: 2 });
  await world.deliverAll();
  expect(world.told(world.pager).slice(-1)).toEqual([expect.stringMatching(/^Channel finance fails\. HTTP 410/)]);
  world.clock.set(Date.UTC(2026, 2, 17, 7));
  await world.deliverAll();
  expect(countByState(ledger, 'finance')).toEqual({ dead: 2 });

  const writer = await world.context.writer();
  const request = { notificationIds: null, nowMs: world.clock.now() };
  expect((await writer.replayDead(request)).enabled).toEqual(['finance']);
  await world.deliverAll();
  expect(countByState(ledger, 'finance')).toEqual({ delivered: 2 });
  expect(world.told(world.finance).slice(-2).sort()).toEqual([
    'Daily summary of 2026-03-17 07:00 UTC: 2 alerts open.',
    expect.stringMatching(/^a \(ws-1\): 16,000/),
  ]);
});

test('a digest for a removed channel is not composed, and a daemon without the channel drops it', async () => {
  const world = await startWorld();
  await world.syncAt(2);
  await world.syncAt(8, ['new', 5_000]);
  const without = world.another((config) => ({ ...config, alerts: { channels: config.alerts.channels.slice(0, 1) } }));
  world.clock.set(Date.UTC(2026, 2, 17, 7));
  await world.deliverAll(without);
  expect(countByState(world.view(), 'finance')).toEqual({ held: 1 });
  await without.evaluateAll();
  await world.deliverAll(without);
  expect(countByState(world.view(), 'finance')).toEqual({});
  // With the channel it is told all the same.
  await world.context.evaluateAll();
  await world.deliverAll();
  world.clock.set(Date.UTC(2026, 2, 18, 7));
  await world.deliverAll();
  expect(world.finance.received).toHaveLength(1);
});

interface World extends Fixture {
  /** Told of what is critical, at once. */
  pager: Receiver;
  /** Told of everything, the rest at seven. */
  finance: Receiver;
  /** Syncs so many hours after the beginning of 16 March, with these figures of March, and delivers what is due. */
  syncAt(hour: number, ...changes: (Context | readonly [string, number])[]): Promise<void>;
  /** Does what a sweep and its jobs do: makes digests that are due and delivers all that is. */
  deliverAll(context?: Context): Promise<void>;
  /** The summaries of what a receiver got, in order. */
  told(receiver: Receiver): string[];
}

/** `statuses`: what the receiver of the digests answers, the last one for ever. */
async function startWorld(route: Partial<RouteConfig> = {}, ...statuses: number[]): Promise<World> {
  const pager = await startReceiver((response) => response.writeHead(204).end());
  let calls = 0;
  const finance = await startReceiver((response) => {
    response.writeHead(statuses[Math.min(calls, statuses.length - 1)] ?? 204).end();
    calls += 1;
  });
  onTestFinished(pager.close);
  onTestFinished(finance.close);
  const hook = (name: string, { url }: Receiver, own: Partial<RouteConfig>): ChannelConfig => ({
    ...{ type: 'webhook', name, url, secrets: [], allowPrivate: true, timeoutMs: 10_000 },
    route: { ...ROUTE, ...own },
  });
  const fixture = await startFixture({
    channels: [
      hook('pager', pager, { severities: ['critical'] }),
      hook('finance', finance, { digestHour: 7, ...route }),
    ],
    settings: CRITICAL_FROM_7600,
  });
  const { clock, upstream, context } = fixture;
  // From the middle of February on it has been read, so that March is foretold.
  for (const day of [14, 15, 16, 17]) {
    clock.set(Date.UTC(2026, 1, day));
    useHistory(upstream, 5_000);
    await fixture.sync();
  }
  useHistory(upstream);
  for (const tenantId of ['a', 'b']) upstream.set({ tenantId, period: '2026-03', credits: 8_000, requests: 10 });
  clock.set(Date.UTC(2026, 2, 14, 6));
  await fixture.sync();
  const deliverAll = async (by = context): Promise<void> => {
    await by.compose();
    // A notice that a channel is disabled comes while the others are delivered.
    for (let round = 0; round < 2; round += 1) await deliverWaiting(by);
  };
  return {
    ...{ ...fixture, pager, finance, deliverAll },
    told: ({ received }) => received.map(({ body }) => JSON.parse(String(body)).summary),
    async syncAt(hour, ...changes) {
      clock.set(Date.UTC(2026, 2, 16) + hour * HOUR_MS);
      let by = context;
      for (const change of changes) {
        if (!('0' in change)) by = change;
        else upstream.set({ tenantId: change[0], period: '2026-03', credits: change[1], requests: 10 });
      }
      await by.sync({ workspaceId: 'ws-1', kind: 'manual', slot: null, signal: SIGNAL });
      await deliverAll(by);
    },
  };
}

function useHistory(upstream: Fixture['upstream'], february = 10_000): void {
  for (const tenantId of ['a', 'b']) {
    upstream.set({ tenantId, period: '2026-01', credits: 10_000, requests: 10 });
    upstream.set({ tenantId, period: '2026-02', credits: february, requests: 10 });
  }
}
