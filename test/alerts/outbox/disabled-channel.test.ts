import { expect, onTestFinished, test } from 'vitest';
import { systemRandomness } from '../../../src/core/randomness.ts';
import type { Context } from '../../../src/wiring/context.ts';
import {
  countByState,
  deliverWaiting,
  type Message,
  messages,
  type NotificationRow,
  pendingMessages,
  pendingNotifications,
} from '../../support/messages.ts';
import { rejection } from '../../support/rejection.ts';
import { type Fixture, startFixture } from '../../support/sandbox-fixture.ts';
import { type Receiver, startReceiver } from '../channels/receiver.ts';

const SIGNAL = new AbortController().signal;

test('410 disables the channel: its pending notifications are given up, and the other channels are notified of that and of its end', async () => {
  const { context, clock, gone, other, sync, upstream, view } = await startWithTwoChannels(410, 204);
  const [{ id } = { id: '' }] = await jumpOf({ sync, upstream, view }, 'first', 'second');

  expect(await context.deliver(id, SIGNAL)).toMatchObject({
    state: 'dead',
    reason: 'HTTP 410: the receiver wants no more notifications',
    ...{ channel: 'gone', disabled: true },
  });
  const ledger = view();
  expect(ledger.rows('SELECT name, disabled_at, reason FROM channel_states')).toEqual([
    {
      name: 'gone',
      disabled_at: '2026-03-20T12:00:00.000Z',
      reason: 'HTTP 410: the receiver wants no more notifications',
    },
  ]);
  await deliverWaiting(context);
  expect(messages(ledger).filter(({ channel }) => channel === 'gone')).toMatchObject([
    { id, state: 'dead', attempts: 1, lastError: 'HTTP 410: the receiver wants no more notifications' },
    {
      state: 'dead',
      attempts: 1,
      lastError: 'channel "gone" is disabled (HTTP 410: the receiver wants no more notifications)',
    },
  ]);
  await deliverWaiting(context);
  expect(other.received.map(({ body }) => JSON.parse(body.toString()))).toContainEqual(
    expect.objectContaining({
      ...{ type: 'alert.firing', rule: 'job_failed', cause: 'channel:gone' },
      ...{ severity: 'critical', workspace_id: null },
      summary: expect.stringMatching(
        /^Channel gone fails\. .*HTTP 410: the receiver wants no more notifications\)?\. 2 alerts were not delivered; the newest is ".* \(ws-1\): .*"\. Once it works, run `usage-ledger alerts replay --all-dead`\.$/,
      ),
    }),
  );
  expect(gone.received).toHaveLength(1);

  const request = { notificationIds: [id], nowMs: clock.now() };
  await (await context.writer()).replayDead(request);
  for (let sweep = 0; sweep < 2; sweep += 1) await deliverWaiting(context);
  expect(gone.received).toHaveLength(2);
  expect(other.received.map(({ body }) => JSON.parse(body.toString()).summary)).toContain('Channel gone works again.');
});

test('two attempts that are refused at the same time disable it once', async () => {
  const bothCalled = Promise.withResolvers<void>();
  const { context, another, sync, upstream, view } = await startWithTwoChannels(
    { status: 410, after: bothCalled.promise },
    { status: 410, onCall: bothCalled.resolve },
  );
  const ids = await jumpOf({ sync, upstream, view }, 'first', 'second');

  const outcomes = await Promise.all(
    [context, another()].map((sender, index) => sender.deliver(ids[index]?.id ?? '', SIGNAL)),
  );

  expect(outcomes.map(({ state }) => state)).toEqual(['dead', 'dead']);
  for (let sweep = 0; sweep < 2; sweep += 1) await deliverWaiting(context);
  expect(messages(view()).filter(({ payload }) => payload.cause === 'channel:gone')).toHaveLength(1);
});

test('a disabled channel is sent nothing, and later messages for it are dead with the reason', async () => {
  const { context, gone, sync, upstream, view } = await startWithTwoChannels(410);
  const [first] = await jumpOf({ sync, upstream, view }, 'first');
  await context.deliver(first?.id ?? '', SIGNAL);
  const [later] = await jumpOf({ sync, upstream, view }, 'later');

  expect(await context.deliver(later?.id ?? '', SIGNAL)).toMatchObject({
    state: 'dead',
    reason: 'channel "gone" is disabled (HTTP 410: the receiver wants no more notifications)',
  });
  expect(gone.received).toHaveLength(1);
  expect(view().value('SELECT count(*) FROM channel_states')).toBe(1n);
});

test('a replay decides given-up notifications again, enables the channel, and restarts the three days', async () => {
  const { context, gone, sync, upstream, view, clock } = await startWithTwoChannels(410, 503, 204);
  const [row] = await jumpOf({ sync, upstream, view }, 'first');
  const id = row?.id ?? '';
  await context.deliver(id, SIGNAL);
  const writer = await context.writer();
  const request = { notificationIds: [id], nowMs: clock.now() };

  expect(await writer.replayDead(request)).toMatchObject({
    replayed: [{ notification_id: id, channel: 'gone', attempts: 1 }],
    enabled: ['gone'],
    without_channel: [],
  });
  expect(view().value('SELECT count(*) FROM channel_states')).toBe(0n);
  await deliverWaiting(context);
  expect(owedOf(view)).toMatchObject([{ failures: 1, dueAt: '2026-03-20T12:00:05.000Z' }]);
  clock.advance(5000);
  await deliverWaiting(context);
  expect(countByState(view(), 'gone')).toEqual({ delivered: 1 });
  const told = gone.received.map(({ body }) => JSON.parse(body.toString()));
  expect(new Set(told.map(({ notification_id }) => notification_id)).size).toBe(3);
  expect(new Set(told.map(({ alert_id }) => alert_id)).size).toBe(1);
  expect((await rejection(writer.replayDead(request))).code).toBe('not_dead');
});

test('a replay of all sends waiting retries at once and restarts their three days', async () => {
  const { context, gone, sync, upstream, view, clock } = await startWithTwoChannels(
    404,
    404,
    404,
    404,
    404,
    404,
    404,
    204,
  );
  await jumpOf({ sync, upstream, view }, 'first');
  for (const waitMs of [5, 15, 60, 300, 900].map((seconds) => seconds * 1000)) {
    await deliverWaiting(context);
    clock.advance(waitMs);
  }
  await deliverWaiting(context);
  expect(owedOf(view)).toMatchObject([{ failures: 6 }]);
  const writer = await context.writer();
  const request = { notificationIds: null, nowMs: clock.now() };

  expect(await writer.replayDead(request)).toMatchObject({ replayed: [], retried: 1 });
  await deliverWaiting(context);
  expect(owedOf(view)).toMatchObject([{ failures: 1, dueAt: new Date(clock.now() + 5000).toISOString() }]);
  clock.advance(5000);
  await deliverWaiting(context);
  expect(countByState(view(), 'gone')).toEqual({ delivered: 1 });
  expect(gone.received).toHaveLength(8);
  expect(await writer.replayDead(request)).toMatchObject({ replayed: [], retried: 0 });
});

test('a notification given up after three days is sent in its current state once the channel accepts a message', async () => {
  const { context, gone, sync, upstream, view, clock } = await startWithTwoChannels(...Array(19).fill(503), 204);
  await jumpOf({ sync, upstream, view }, 'first');
  while (
    owedOf(view).some(({ givenUp }) => !givenUp) ||
    messages(view()).some(({ channel, state }) => channel === 'gone' && state === 'pending')
  ) {
    await deliverWaiting(context);
    clock.advance(6 * 3_600_000);
  }
  expect(countByState(view(), 'gone')).toEqual({ dead: 1 });
  await jumpOf({ sync, upstream, view }, 'later');
  for (let sweep = 0; sweep < 3; sweep += 1) await deliverWaiting(context);
  expect(countByState(view(), 'gone')).toEqual({ delivered: 2 });
  const told = gone.received.slice(19).map(({ body }) => JSON.parse(body.toString()));
  expect(told.map(({ tenant_id }) => tenant_id)).toEqual(['later', 'first']);
});

test('a rejected message is retried a day later, not with each accepted message', async () => {
  const { context, gone, sync, upstream, view, clock } = await startWithTwoChannels(400, 204);
  await jumpOf({ sync, upstream, view }, 'first');
  await deliverWaiting(context);
  await jumpOf({ sync, upstream, view }, 'later');
  for (let sweep = 0; sweep < 3; sweep += 1) await deliverWaiting(context);
  expect(countByState(view(), 'gone')).toEqual({ dead: 1, delivered: 1 });
  clock.advance(24 * 3_600_000);
  await jumpOf({ sync, upstream, view }, 'second');
  for (let sweep = 0; sweep < 3; sweep += 1) await deliverWaiting(context);
  expect(countByState(view(), 'gone')).toEqual({ delivered: 3 });
  expect(gone.received).toHaveLength(4);
});

test.each([400, 401, 403, 301, 308])(
  '%i is told at once to the others, and leaves the channel as it is',
  async (status) => {
    const { context, sync, upstream, view } = await startWithTwoChannels(status);
    const [row] = await jumpOf({ sync, upstream, view }, 'first');
    expect(await context.deliver(row?.id ?? '', SIGNAL)).toMatchObject({
      state: 'dead',
      reason: expect.stringContaining(`HTTP ${status}`),
    });
    const about = "SELECT state FROM finance_alerts WHERE cause = 'channel:gone'";
    expect(view().rows(about)).toEqual([{ state: 'firing' }]);
    expect(view().value('SELECT count(*) FROM channel_states')).toBe(0n);
  },
);

test.each([404, 500, 503])('%i is tried again, and told to the others at the fifth attempt', async (status) => {
  const { context, clock, sync, upstream, view } = await startWithTwoChannels(status);
  await jumpOf({ sync, upstream, view }, 'first');
  const states = () => view().rows("SELECT state FROM finance_alerts WHERE rule = 'job_failed'");
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    expect(states()).toEqual([]);
    await deliverWaiting(context);
    expect(owedOf(view)).toMatchObject([{ failures: attempt }]);
    clock.advance(3_600_000);
  }
  expect(states()).toEqual([{ state: 'firing' }]);
});

test('a Retry-After longer than the back-off is obeyed', async () => {
  const { context, sync, upstream, view } = await startWithTwoChannels({
    status: 429,
    headers: { 'retry-after': '7200' },
  });
  const [row] = await jumpOf({ sync, upstream, view }, 'first');
  expect(await context.deliver(row?.id ?? '', SIGNAL)).toMatchObject({ state: 'pending', delayMs: 7_200_000 });
});

test('an attempt cut off by a stop is not counted, and the next sender may claim it at once', async () => {
  const stop = new AbortController();
  const { context, gone, sync, upstream, view } = await startWithTwoChannels(
    { status: 0, onCall: () => stop.abort() },
    204,
  );
  const [row] = await jumpOf({ sync, upstream, view }, 'first');
  const id = row?.id ?? '';

  expect(await rejection(context.deliver(id, stop.signal))).toBe(stop.signal.reason);
  const [message] = messages(view()).filter((each) => each.id === id);
  expect(message).toMatchObject({ state: 'pending', attempts: 0, lastError: null });
  expect(await rejection(context.deliver(id, stop.signal))).toBe(stop.signal.reason);

  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
  expect(gone.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
  expect(messages(view()).find((each) => each.id === id)?.attempts).toBe(1);
});

interface Answer {
  /** 0: no answer. */
  status: number;
  headers?: Record<string, string>;
  onCall?: () => void;
  /** The answer waits for this. */
  after?: Promise<void>;
}

interface TwoChannels extends Fixture {
  context: Context;
  /** Answers as told, with the last answer for ever. */
  gone: Receiver;
  /** Takes everything. */
  other: Receiver;
}

async function startWithTwoChannels(...answers: (number | Answer)[]): Promise<TwoChannels> {
  let calls = 0;
  const gone = await startReceiver(async (response) => {
    const answer = answers[Math.min(calls, answers.length - 1)] ?? 500;
    calls += 1;
    const { status, headers = {}, onCall, after }: Answer = typeof answer === 'number' ? { status: answer } : answer;
    onCall?.();
    await after;
    if (status !== 0) response.writeHead(status, headers).end();
  });
  const other = await startReceiver((response) => response.writeHead(204).end());
  onTestFinished(gone.close);
  onTestFinished(other.close);
  const outbound = { secrets: [], allowPrivate: true, timeoutMs: 10_000 };
  const fixture = await startFixture({
    channels: [
      { type: 'webhook', name: 'gone', url: gone.url, ...outbound },
      { type: 'webhook', name: 'other', url: other.url, ...outbound },
    ],
  });
  for (const tenantId of ['first', 'second', 'later', 'steady']) {
    for (const period of ['2026-01', '2026-02'])
      fixture.upstream.set({ tenantId, period, credits: 10_000, requests: 10 });
  }
  await fixture.sync();
  return {
    ...fixture,
    gone,
    other,
    context: fixture.another(undefined, { randomness: { ...systemRandomness, fraction: () => 0 } }),
  };
}

/** Lets these tenants jump; the messages to the channel that fails. */
async function jumpOf(
  { sync, upstream, view }: Pick<Fixture, 'sync' | 'upstream' | 'view'>,
  ...tenants: string[]
): Promise<Message[]> {
  for (const tenantId of tenants) upstream.set({ tenantId, period: '2026-03', credits: 50_000, requests: 10 });
  await sync();
  return pendingMessages(view()).filter(({ channel }) => channel === 'gone');
}

function owedOf(view: Fixture['view']): NotificationRow[] {
  return pendingNotifications(view()).filter(({ channel }) => channel === 'gone');
}
