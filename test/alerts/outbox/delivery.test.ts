import { expect, onTestFinished, test } from 'vitest';
import type { Channel } from '../../../src/alerts/channels/channel.ts';
import { systemRandomness } from '../../../src/core/randomness.ts';
import type { Context } from '../../../src/wiring/context.ts';
import { type Message, messages } from '../../support/messages.ts';
import { type Fixture, startFixture } from '../../support/sandbox-fixture.ts';
import { type Receiver, startReceiver } from '../channels/receiver.ts';

const SIGNAL = new AbortController().signal;

test('a notification arrives in one call that carries its id and the stored payload', async () => {
  const { receiver, context, id, row } = await startWithNotification([204]);

  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });

  expect(receiver.received).toHaveLength(1);
  expect(receiver.received[0]?.headers['webhook-id']).toBe(id);
  expect(receiver.received[0]?.body.toString()).toBe(row().text);
  expect(row()).toMatchObject({ state: 'delivered', attempts: 1, lastError: null, claimedUntil: null });
  expect(row().deliveredAt).toBe('2026-03-20T12:00:00.000Z');
});

test('a delivered notification is not sent again', async () => {
  const { receiver, context, id } = await startWithNotification([204]);
  await context.deliver(id, SIGNAL);

  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  expect(receiver.received).toHaveLength(1);
});

test('a failing receiver leaves the notification pending until later, and the retry has the same id', async () => {
  const { receiver, context, id, row, clock } = await startWithNotification([503, 200]);

  const outcome = await context.deliver(id, SIGNAL);

  expect(outcome).toMatchObject({ state: 'pending', attempt: 1, delayMs: 5_000 });
  expect(row()).toMatchObject({
    state: 'pending',
    attempts: 1,
    nextAttemptAt: '2026-03-20T12:00:05.000Z',
    claimedUntil: '2026-03-20T12:00:00.000Z',
    deliveredAt: null,
  });
  expect(row().lastError).toContain('503');

  clock.advance(4_999);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  clock.advance(1);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
  expect(receiver.received[1]?.body).toEqual(receiver.received[0]?.body);
  expect(row()).toMatchObject({ state: 'delivered', attempts: 2, lastError: null });
});

test('a notification for a channel that is not configured is left to who has it, and ends where its outcome is unknown', async () => {
  const { receiver, context, another, id, row, clock } = await startWithNotification([204]);
  const without = another((config) => ({ ...config, alerts: { channels: [{ type: 'log', name: 'log' }] } }));
  expect(await without.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  expect(row()).toMatchObject({ state: 'pending', attempts: 0 });
  clock.advance(30 * 86_400_000);
  expect(await without.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });

  const writer = await context.writer();
  await writer.call('claimDelivery', { notificationId: id, nowMs: clock.now(), claimMs: 60_000 });
  expect(await without.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  clock.advance(60_000);
  expect(await without.deliver(id, SIGNAL)).toMatchObject({ state: 'dead' });

  expect(row()).toMatchObject({ state: 'dead', attempts: 1 });
  expect(row().lastError).toContain('"hook"');
  expect(await without.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  expect(receiver.received).toEqual([]);
});

test('of two senders at once, in two processes, one delivers and the other skips', async () => {
  const { receiver, context, another, id, row } = await startWithNotification([204]);
  const rival = another();

  const outcomes = await Promise.all([context.deliver(id, SIGNAL), rival.deliver(id, SIGNAL)]);

  expect(outcomes.map(({ state }) => state).sort()).toEqual(['delivered', 'skipped']);
  expect(receiver.received).toHaveLength(1);
  expect(row()).toMatchObject({ state: 'delivered', attempts: 1 });
});

test('a claim whose sender died runs out after a minute, and the notification is sent under the same id', async () => {
  const { receiver, context, id, clock } = await startWithNotification([204]);
  const writer = await context.writer();
  const nowMs = clock.now();
  expect(await writer.call('claimDelivery', { notificationId: id, nowMs, claimMs: 60_000 })).toBe(true);

  clock.advance(59_999);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  clock.advance(1);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id]);
});

test.each([
  ['nine hours', 9 * 3_600_000],
  ['ten minutes, less than it waits,', 600_000],
])(
  'a notification that waits when the clock is set back by %s waits as long as was meant from then on',
  async (_, byMs) => {
    const { receiver, context, id, clock } = await startWithNotification([503, 503, 503, 503, 503, 204]);
    for (const waitMs of [5_000, 15_000, 60_000, 300_000]) {
      expect(await context.deliver(id, SIGNAL)).toMatchObject({ delayMs: waitMs });
      clock.advance(waitMs);
    }
    expect(await context.deliver(id, SIGNAL)).toMatchObject({ delayMs: 900_000 });
    clock.set(clock.now() - byMs);
    for (const passedMs of [0, 450_000, 449_999]) {
      clock.advance(passedMs);
      await context.composeDue();
      expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
    }
    clock.advance(1);
    expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
    expect(receiver.received).toHaveLength(6);
  },
);

test('a new notification goes at once when the clock is set back', async () => {
  const { context, id, clock } = await startWithNotification([204]);
  clock.set(clock.now() - 9 * 3_600_000);
  await (await context.writer()).call('restartWaits', { nowMs: clock.now() });
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
});

test('a claim whose sender died keeps nobody out for longer when the clock is set back meanwhile', async () => {
  const { context, id, clock } = await startWithNotification([503, 204]);
  clock.advance(9 * 3_600_000);
  await context.deliver(id, SIGNAL);
  clock.advance(5_000);
  const writer = await context.writer();
  await writer.call('claimDelivery', { notificationId: id, nowMs: clock.now(), claimMs: 60_000 });
  clock.set(clock.now() - 9 * 3_600_000);
  await context.composeDue();
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
});

test('channels that a context is given take what the configured ones would have got', async () => {
  const { receiver, another, id, row } = await startWithNotification([204]);
  const taken: string[] = [];
  const deliver: Channel['deliver'] = async ({ notificationId }) => {
    taken.push(notificationId);
    return { outcome: 'delivered', detail: 'in memory' };
  };
  const context = another(undefined, { channels: new Map([['hook', { name: 'hook', type: 'webhook', deliver }]]) });

  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
  expect(taken).toEqual([id]);
  expect(receiver.received).toEqual([]);
  expect(row()).toMatchObject({ state: 'delivered' });
});

interface DeliveryFixture extends Fixture {
  receiver: Receiver;
  context: Context;
  /** The one message that waits. */
  id: string;
  row(): Message;
}

/** A ledger with one notification for a webhook whose receiver answers with these statuses, the last one for ever. */
async function startWithNotification(statuses: readonly number[]): Promise<DeliveryFixture> {
  let calls = 0;
  const receiver = await startReceiver((response) => {
    response.writeHead(statuses[Math.min(calls, statuses.length - 1)] ?? 500).end();
    calls += 1;
  });
  onTestFinished(() => receiver.close());
  const fixture = await startFixture({
    channels: [
      { type: 'webhook', name: 'hook', url: receiver.url, secrets: [], allowPrivate: true, timeoutMs: 10_000 },
    ],
  });
  const { upstream, sync } = fixture;
  upstream.set({ tenantId: 'jumper', period: '2026-01', credits: 10_000, requests: 10 });
  upstream.set({ tenantId: 'jumper', period: '2026-02', credits: 10_000, requests: 10 });
  await sync();
  upstream.set({ tenantId: 'jumper', period: '2026-03', credits: 50_000, requests: 10 });
  const { alerts } = await sync();
  const [id] = alerts.notificationIds;
  if (id === undefined || alerts.notificationIds.length !== 1) throw new Error('one notification is expected');
  const ledger = fixture.view();
  const context = fixture.another(undefined, { randomness: { ...systemRandomness, fraction: () => 0 } });
  const row = (): Message => {
    const message = messages(ledger).find((each) => each.id === id);
    if (message === undefined) throw new Error('it is gone');
    return message;
  };
  return { ...fixture, receiver, context, id, row };
}
