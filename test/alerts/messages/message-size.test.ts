import { expect, test } from 'vitest';
import type { Channel, DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import { deliverNotification } from '../../../src/alerts/channels/deliver.ts';
import { composeDueMessages } from '../../../src/alerts/outbox/compose-due.ts';
import { claimDelivery, recordAttempt } from '../../../src/alerts/outbox/deliveries.ts';
import { findDueDeliveries } from '../../../src/alerts/outbox/due.ts';
import { notifyChannels } from '../../../src/alerts/outbox/notify-channels.ts';
import { replayDead } from '../../../src/alerts/outbox/replay.ts';
import { holds } from '../../../src/alerts/rules/judgement.ts';
import { observation } from '../../../src/alerts/rules/observation.ts';
import { AlertBook } from '../../../src/alerts/state/alert-book.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { periodKeyOf } from '../../../src/ledger/store/schema/keys.ts';
import { countByState, messages, pendingNotifications } from '../../support/messages.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { LOG_ROUTES, notifying, setRoutes } from '../../support/run/real-run.ts';
import { NOON } from '../../support/time/test-clock.ts';

const SIGNAL = new AbortController().signal;

/** A ledger with so many tenants, all of which jump at once, and a receiver that takes messages of so many bytes. */
async function world(tenants: number, mostBytes = Number.POSITIVE_INFINITY, creditsOf = (_index: number) => 16_000n) {
  const { connection } = openLedger();
  const names = Array.from({ length: tenants }, (_, index) => `tenant-${String(index).padStart(4, '0')}`);
  await publish(
    connection,
    names.map((name) => usageRecord(name, 16_000)),
    { nowMs: NOON - 3_600_000 },
  );
  setRoutes(connection, LOG_ROUTES);
  const state = { nowMs: NOON, mostBytes };
  const book = new AlertBook({
    ...{ connection, workspaceKey: 1, workspaceId: 'ws-1', runKey: null, runId: null, actor: 'timer' },
    ...{ seeding: false, at: isoTime(NOON), ...notifying(connection, NOON), priceOf: () => null },
  });
  for (const index of names.keys()) {
    const credits = creditsOf(index);
    const judgement = holds({ level: 'happened', severity: 'critical', threshold: 15_000n, magnitude: credits });
    const figures = { previous: { credits: 10_000n, requests: 1n }, current: { credits, requests: 1n } };
    const subject = { rule: 'jump' as const, periodKey: periodKeyOf(1, '2026-03'), tenantKey: index + 1 };
    book.observe(observation({ ...subject, ...figures, threshold: 15_000n, judgement }));
  }
  notifyChannels(book);
  // biome-ignore lint/suspicious/noExplicitAny: an expectation on a wrong shape fails by itself
  const taken: any[] = [];
  const refusedBytes: number[] = [];
  const deliver: Channel['deliver'] = async ({ payload }): Promise<DeliveryResult> => {
    const bytes = Buffer.byteLength(payload);
    if (bytes > state.mostBytes) {
      refusedBytes.push(bytes);
      return { outcome: 'too_large', reason: 'HTTP 413' };
    }
    taken.push({ ...JSON.parse(payload), bytes });
    return { outcome: 'delivered', detail: 'taken' };
  };
  /** Sweeps until nothing is due any more. */
  const send = async (): Promise<void> => {
    const channels = new Map([['log', { name: 'log', type: 'log', deliver }]]);
    const access = {
      whyDisabled: () => null,
      claim: async (request: { notificationId: string; nowMs: number }) =>
        claimDelivery(connection, { ...request, ...notifying(connection, request.nowMs) }),
      record: async (record: Parameters<typeof recordAttempt>[1]) => recordAttempt(connection, record),
    };
    for (;;) {
      composeDueMessages(connection, notifying(connection, state.nowMs));
      const due = findDueDeliveries(connection, { channels: ['log'], limit: 1000, nowMs: state.nowMs });
      if (due.length === 0) return;
      const deps = { access, channels, clock: { now: () => state.nowMs }, random: () => 0 };
      for (const { notificationId } of due) await deliverNotification(deps, notificationId, SIGNAL);
    }
  };
  const tenantsOf = (message: (typeof taken)[number]): string[] =>
    (message.alerts ?? [message]).map(({ tenant_id }: { tenant_id: string }) => tenant_id);
  return { connection, state, send, taken, refusedBytes, tenantsOf, names };
}

test('a group has at most 100 members and 180,000 bytes: more of them are numbered messages, each alert in one', async () => {
  const { send, taken, tenantsOf, names } = await world(250);
  await send();

  expect(taken.map(({ part, parts }) => `${part} of ${parts}`)).toEqual(
    taken.map((_, index) => `${index + 1} of ${taken.length}`),
  );
  expect(taken.length).toBeGreaterThanOrEqual(3);
  for (const message of taken) {
    expect(message.alert_count).toBe(message.alerts.length);
    expect(message.alert_count).toBeLessThanOrEqual(100);
    expect(message.bytes).toBeLessThanOrEqual(180_000);
    expect(message.summary).toContain('250 of 250 tenants of ws-1 are over their March limit');
  }
  expect(taken.flatMap(tenantsOf).sort()).toEqual(names);
});

test('one that is far out of line never rides with a group; five of them are a group of their own', async () => {
  const one = await world(12, undefined, (index) => (index === 7 ? 3_200_000n : 16_000n));
  await one.send();
  expect(one.taken.map(one.tenantsOf)).toEqual([['tenant-0007'], one.names.filter((name) => name !== 'tenant-0007')]);

  const five = await world(12, undefined, (index) => (index < 5 ? 3_200_000n : 16_000n));
  await five.send();
  expect(five.taken.map(five.tenantsOf)).toEqual([five.names.slice(0, 5), five.names.slice(5)]);
});

test('a receiver that answers 413 gets halves at once until it takes them, and nothing larger from then on', async () => {
  const { connection, send, taken, refusedBytes, tenantsOf, names } = await world(150, 20_000);
  await send();

  expect(taken.flatMap(tenantsOf).sort()).toEqual(names);
  for (const { bytes } of taken) expect(bytes).toBeLessThanOrEqual(20_000);
  expect(refusedBytes.length).toBeGreaterThan(0);
  expect(refusedBytes.length).toBeLessThan(8);
  expect(pendingNotifications(connection)).toEqual([]);
  expect(countByState(connection)).toEqual({ delivered: taken.length });
  const bound = connection.prepare("SELECT most_bytes FROM channel_states WHERE name = 'log'").pluck().get() as number;
  expect(bound).toBeLessThan(45_000);

  replayDead(connection, { notificationIds: null, ...notifying(connection, NOON) });
  expect(connection.prepare('SELECT count(*) FROM channel_states').pluck().get()).toBe(0);
});

test('a message about one alert that is too large is given up, and holds up nothing else', async () => {
  const { connection, send, taken } = await world(6, 100);
  await send();
  expect(taken).toEqual([]);
  expect(messages(connection).map(({ state, lastError }) => [state, lastError])).toEqual(
    Array(6).fill(['dead', 'HTTP 413']),
  );
  expect(pendingNotifications(connection).every(({ givenUp }) => givenUp)).toBe(true);
});
