import { expect, onTestFinished, test } from 'vitest';
import type { Channel } from '../../../src/alerts/channels/channel.ts';
import { systemRandomness } from '../../../src/core/randomness.ts';
import type { Context } from '../../../src/wiring/context.ts';
import { deliverWaiting, type Message, messages, pendingNotifications } from '../../support/messages.ts';
import { type Fixture, manualOrder, startFixture } from '../../support/sandbox-fixture.ts';
import { type Receiver, startReceiver } from '../channels/receiver.ts';

const SIGNAL = new AbortController().signal;

test('a notification arrives in one call that carries its id and the stored payload', async () => {
  const { receiver, context, id, row } = await startWithNotification([204]);

  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });

  expect(receiver.received).toHaveLength(1);
  expect(receiver.received[0]?.headers['webhook-id']).toBe(id);
  expect(receiver.received[0]?.body.toString()).toBe(row().text);
  expect(row()).toMatchObject({ state: 'delivered', attempts: 1, lastError: null, dueAt: null });
  expect(row().deliveredAt).toBe('2026-03-20T12:00:00.000Z');
});

test('a delivered notification is not sent again', async () => {
  const { receiver, context, id } = await startWithNotification([204]);
  await context.deliver(id, SIGNAL);

  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  expect(receiver.received).toHaveLength(1);
});

test('a notification that was certainly refused is composed again after the back-off, with a new id and a higher revision', async () => {
  const { receiver, context, id, view, clock } = await startWithNotification([503, 200]);

  expect(await context.deliver(id, SIGNAL)).toMatchObject({ state: 'pending', attempt: 1, delayMs: 5_000 });
  expect(messages(view())).toEqual([]);
  expect(pendingNotifications(view())).toMatchObject([
    { event: 'opened', failures: 1, dueAt: '2026-03-20T12:00:05.000Z' },
  ]);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });

  clock.advance(4_999);
  expect(await context.compose()).toBe(0);
  clock.advance(1);
  await deliverWaiting(context);
  const [first, second] = receiver.received.map(({ body }) => JSON.parse(String(body)));
  expect(second.notification_id).not.toBe(first.notification_id);
  expect(second.revision).toBeGreaterThan(first.revision);
  expect(messages(view())).toMatchObject([{ id: second.notification_id, state: 'delivered', attempts: 1 }]);
  expect(pendingNotifications(view())).toEqual([]);
});

test('a message that may have arrived keeps its id and bytes until its outcome is known', async () => {
  const { receiver, context, id, row, clock, upstream, sync } = await startWithNotification([502, 504, 503, 200]);
  for (const [attempt, delayMs] of [5_000, 15_000, 60_000].entries()) {
    expect(await context.deliver(id, SIGNAL)).toMatchObject({ state: 'pending', attempt: attempt + 1, delayMs });
    expect(row()).toMatchObject({ state: 'pending', attempts: attempt + 1, deliveredAt: null });
    // Whatever becomes of the alert meanwhile.
    upstream.set({ tenantId: 'jumper', period: '2026-03', credits: 90_000, requests: 10 });
    await sync();
    clock.advance(delayMs - 1);
    expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
    clock.advance(1);
  }
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id, id, id]);
  expect(new Set(receiver.received.map(({ body }) => String(body))).size).toBe(1);
  expect(row()).toMatchObject({ state: 'delivered', attempts: 4, lastError: null });
});

test('a notification for a channel of another configuration is left alone, and ends if its outcome is unknown', async () => {
  const { receiver, context, another, id, row, clock } = await startWithNotification([204]);
  const without = another((config) => ({ ...config, alerts: { channels: [{ type: 'log', name: 'log' }] } }));
  expect(await without.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  expect(row()).toMatchObject({ state: 'pending', attempts: 0 });

  const writer = await context.writer();
  await writer.claimDelivery({ notificationId: id, nowMs: clock.now() });
  expect(await without.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  clock.advance(60_000);
  expect(await without.deliver(id, SIGNAL)).toMatchObject({ state: 'dead' });

  expect(row()).toMatchObject({ state: 'dead', attempts: 1 });
  expect(row().lastError).toContain('"hook"');
  expect(await without.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  expect(receiver.received).toEqual([]);
});

test('a message without an attempt for a minute is decided again', async () => {
  const { receiver, context, id, clock, upstream, another } = await startWithNotification([204]);
  clock.advance(60_001);
  upstream.set({ tenantId: 'jumper', period: '2026-03', credits: 90_000, requests: 10 });
  await another().sync(manualOrder());
  await deliverWaiting(context);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  const [told] = receiver.received.map(({ body }) => JSON.parse(String(body)));
  expect(receiver.received).toHaveLength(1);
  expect(told).toMatchObject({ event: 'opened', credits: { current: 90_000 } });
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
  expect(await writer.claimDelivery({ notificationId: id, nowMs })).toMatchObject({ channel: 'hook' });

  clock.advance(59_999);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  clock.advance(1);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id]);
});

test('a stalled sender that was overtaken does not bring the next attempt forward', async () => {
  const { receiver, context, id, clock, row } = await startWithNotification([503, 204]);
  const writer = await context.writer();
  const claimed = await writer.claimDelivery({ notificationId: id, nowMs: clock.now() });
  clock.advance(60_000);
  expect(await context.deliver(id, SIGNAL)).toMatchObject({ state: 'pending', delayMs: 5_000 });
  const late = { notificationId: id, claimedAt: claimed?.claimedAt ?? '', event: 'refused', error: 'late' } as const;
  await writer.recordAttempt({ ...late, delayMs: 0, nowMs: clock.now(), about: null });

  expect(row()).toMatchObject({ state: 'pending', attempts: 2 });
  clock.advance(4_000);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  clock.advance(1_000);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
  expect(receiver.received).toHaveLength(2);
});

test.each([
  ['refused', 503, 'nine hours', 9 * 3_600_000],
  ['refused', 503, 'ten minutes, less than it waits,', 600_000],
  ['lost', 504, 'nine hours', 9 * 3_600_000],
])(
  'what was %s (%i) and waits when the clock is set back by %s waits as long as was meant from then on',
  async (_, status, __, byMs) => {
    const { receiver, context, clock } = await startWithNotification([status, status, status, status, status, 204]);
    for (const waitMs of [5_000, 15_000, 60_000, 300_000]) {
      await deliverWaiting(context);
      clock.advance(waitMs);
    }
    await deliverWaiting(context);
    clock.set(clock.now() - byMs);
    for (const passedMs of [0, 450_000, 449_999]) {
      clock.advance(passedMs);
      await deliverWaiting(context);
      expect(receiver.received).toHaveLength(5);
    }
    clock.advance(1);
    await deliverWaiting(context);
    expect(receiver.received).toHaveLength(6);
  },
);

test('a new notification is sent at once after the clock was set back', async () => {
  const { context, id, clock, row } = await startWithNotification([204]);
  clock.set(clock.now() - 9 * 3_600_000);
  await deliverWaiting(context);
  expect(row()).toMatchObject({ id, state: 'delivered' });
});

test('a claim of a dead sender lasts at most a minute, even if the clock is set back', async () => {
  const { context, id, clock, row } = await startWithNotification([204]);
  clock.advance(30_000);
  const writer = await context.writer();
  await writer.claimDelivery({ notificationId: id, nowMs: clock.now() });
  clock.set(clock.now() - 9 * 3_600_000);
  await deliverWaiting(context);
  clock.advance(60_000);
  await deliverWaiting(context);
  expect(row()).toMatchObject({ id, state: 'delivered' });
});

test('channels passed to a context replace the configured ones', async () => {
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
  await sync();
  const context = fixture.another(undefined, { randomness: { ...systemRandomness, fraction: () => 0 } });
  const [{ id } = { id: '' }, ...others] = messages(fixture.view());
  expect(others).toEqual([]);
  const row = (): Message => {
    const message = messages(fixture.view()).find((each) => each.id === id);
    if (message === undefined) throw new Error(`${id} is not there`);
    return message;
  };
  return { ...fixture, receiver, context, id, row };
}
