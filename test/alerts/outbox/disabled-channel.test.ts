import { expect, onTestFinished, test } from 'vitest';
import { systemRandomness } from '../../../src/core/randomness.ts';
import type { Context } from '../../../src/wiring/context.ts';
import { gate } from '../../support/gate.ts';
import { deliverWaiting, messages } from '../../support/messages.ts';
import { rejection } from '../../support/rejection.ts';
import { type Fixture, startFixture } from '../../support/sandbox-fixture.ts';
import { type Receiver, startReceiver } from '../channels/receiver.ts';

const SIGNAL = new AbortController().signal;

test('410 disables the channel: what waits for it is dead, and the others are told, and told of its end', async () => {
  const { context, clock, gone, other, sync, upstream, view } = await startWithTwoChannels(410, 204);
  const first = await jumpOf({ sync, upstream }, 'first', 'second');
  const [id = ''] = first.filter(({ channel }) => channel === 'gone').map(({ id: own }) => own);

  const outcome = await context.deliver(id, SIGNAL);

  expect(outcome).toMatchObject({
    state: 'dead',
    reason: 'HTTP 410: the receiver wants no more notifications',
    ...{ channel: 'gone', disabled: true, told: [expect.stringMatching(/^msg_[0-9a-f]{32}$/)] },
  });
  const ledger = view();
  expect(ledger.rows('SELECT name, disabled_at, reason FROM channel_states')).toEqual([
    {
      name: 'gone',
      disabled_at: '2026-03-20T12:00:00.000Z',
      reason: 'HTTP 410: the receiver wants no more notifications',
    },
  ]);
  expect(messages(ledger).filter(({ channel }) => channel === 'gone')).toMatchObject([
    { id, state: 'dead', attempts: 1, lastError: 'HTTP 410: the receiver wants no more notifications' },
    {
      state: 'dead',
      attempts: 0,
      lastError: 'channel "gone" is disabled (HTTP 410: the receiver wants no more notifications)',
    },
  ]);

  const notice = outcome.state === 'dead' ? (outcome.told[0] ?? '') : '';
  expect(await context.deliver(notice, SIGNAL)).toEqual({ state: 'delivered' });
  expect(JSON.parse(other.received[0]?.body.toString() ?? '')).toMatchObject({
    ...{ notification_id: notice, type: 'alert.firing', rule: 'job_failed', cause: 'channel:gone' },
    ...{ severity: 'critical', workspace_id: null },
    summary: expect.stringMatching(
      /^Channel gone fails: HTTP 410: the receiver wants no more notifications\. 2 alerts were not delivered; the newest is "ws-1: .*\. Once it works, run `usage-ledger alerts replay --all-dead`\.$/,
    ),
  });
  expect(gone.received).toHaveLength(1);

  const request = { notificationIds: [id], nowMs: clock.now() };
  await (await context.writer()).call('replayDead', request);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
  await deliverWaiting(context);
  expect(other.received.map(({ body }) => JSON.parse(body.toString()).summary)).toContain('Channel gone works again.');
});

test('two attempts that are refused at the same time disable it once', async () => {
  const bothCalled = gate();
  const { context, another, sync, upstream, view } = await startWithTwoChannels(
    { status: 410, after: bothCalled.opened },
    { status: 410, onCall: bothCalled.open },
  );
  const ids = (await jumpOf({ sync, upstream }, 'first', 'second')).filter(({ channel }) => channel === 'gone');

  const outcomes = await Promise.all(
    [context, another()].map((sender, index) => sender.deliver(ids[index]?.id ?? '', SIGNAL)),
  );

  expect(outcomes.map(({ state }) => state)).toEqual(['dead', 'dead']);
  expect(messages(view()).filter(({ payload }) => payload.cause === 'channel:gone')).toHaveLength(1);
});

test('a disabled channel gets nothing more, what comes for it later is dead with the reason', async () => {
  const { context, gone, sync, upstream, view } = await startWithTwoChannels(410);
  const [first] = (await jumpOf({ sync, upstream }, 'first')).filter(({ channel }) => channel === 'gone');
  await context.deliver(first?.id ?? '', SIGNAL);
  const [later] = (await jumpOf({ sync, upstream }, 'later')).filter(({ channel }) => channel === 'gone');

  expect(await context.deliver(later?.id ?? '', SIGNAL)).toMatchObject({
    state: 'dead',
    reason: 'channel "gone" is disabled (HTTP 410: the receiver wants no more notifications)',
  });
  expect(gone.received).toHaveLength(1);
  expect(view().value('SELECT count(*) FROM channel_states')).toBe(1n);
});

test('a replay makes them due under the same id, enables the channel, and begins the three days anew', async () => {
  const { context, gone, sync, upstream, view, clock } = await startWithTwoChannels(410, 503, 204);
  const [row] = (await jumpOf({ sync, upstream }, 'first')).filter(({ channel }) => channel === 'gone');
  const id = row?.id ?? '';
  await context.deliver(id, SIGNAL);
  const writer = await context.writer();
  const request = { notificationIds: [id], nowMs: clock.now() };

  expect(await writer.call('replayDead', request)).toMatchObject({
    replayed: [{ notification_id: id, channel: 'gone', attempts: 1 }],
    enabled: ['gone'],
    without_channel: [],
  });
  expect(view().value('SELECT count(*) FROM channel_states')).toBe(0n);
  expect(await context.deliver(id, SIGNAL)).toMatchObject({ state: 'pending', attempt: 2, delayMs: 5000 });
  clock.advance(5000);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
  expect(gone.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id, id]);
  expect((await rejection(writer.call('replayDead', request))).code).toBe('not_dead');
});

test('a replay of all has what failed and waits for hours go at once, and begins its three days anew', async () => {
  const { context, gone, sync, upstream, clock } = await startWithTwoChannels(404, 404, 404, 404, 404, 404, 404, 204);
  const [row] = (await jumpOf({ sync, upstream }, 'first')).filter(({ channel }) => channel === 'gone');
  const id = row?.id ?? '';
  for (let attempt = 1; attempt <= 6; attempt += 1) {
    const outcome = await context.deliver(id, SIGNAL);
    if (outcome.state === 'pending' && attempt < 6) clock.advance(outcome.delayMs);
  }
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'skipped' });
  const writer = await context.writer();
  const request = { notificationIds: null, nowMs: clock.now() };

  expect(await writer.call('replayDead', request)).toMatchObject({
    replayed: [{ notification_id: id, channel: 'gone', attempts: 6, last_error: 'HTTP 404' }],
  });
  expect(await context.deliver(id, SIGNAL)).toMatchObject({ state: 'pending', attempt: 7, delayMs: 5000 });
  clock.advance(5000);
  expect(await context.deliver(id, SIGNAL)).toEqual({ state: 'delivered' });
  expect(gone.received).toHaveLength(8);
  expect(await writer.call('replayDead', request)).toMatchObject({ replayed: [] });
});

test.each([400, 401, 403, 301, 308])(
  '%i is told at once to the others, and leaves the channel as it is',
  async (status) => {
    const { context, sync, upstream, view } = await startWithTwoChannels(status);
    const [row] = (await jumpOf({ sync, upstream }, 'first')).filter(({ channel }) => channel === 'gone');
    expect(await context.deliver(row?.id ?? '', SIGNAL)).toMatchObject({
      state: 'dead',
      reason: expect.stringContaining(`HTTP ${status}`),
      told: [expect.any(String)],
    });
    expect(view().value('SELECT count(*) FROM channel_states')).toBe(0n);
  },
);

test.each([404, 500, 503])('%i is tried again, and told to the others at the fifth attempt', async (status) => {
  const { context, clock, sync, upstream, view } = await startWithTwoChannels(status);
  const [row] = (await jumpOf({ sync, upstream }, 'first')).filter(({ channel }) => channel === 'gone');
  const states = () => view().rows("SELECT state FROM finance_alerts WHERE rule = 'job_failed'");
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    expect(states()).toEqual([]);
    expect(await context.deliver(row?.id ?? '', SIGNAL)).toMatchObject({ state: 'pending', attempt });
    clock.advance(3_600_000);
  }
  expect(states()).toEqual([{ state: 'firing' }]);
});

test('Retry-After is waited for when it is longer than the own wait', async () => {
  const { context, sync, upstream } = await startWithTwoChannels({ status: 429, headers: { 'retry-after': '7200' } });
  const [row] = (await jumpOf({ sync, upstream }, 'first')).filter(({ channel }) => channel === 'gone');
  expect(await context.deliver(row?.id ?? '', SIGNAL)).toMatchObject({ state: 'pending', delayMs: 7_200_000 });
});

test('an attempt that the stop cuts off is not counted, and the next sender may take it at once', async () => {
  const stop = new AbortController();
  const { context, gone, sync, upstream, view } = await startWithTwoChannels(
    { status: 0, onCall: () => stop.abort() },
    204,
  );
  const [row] = (await jumpOf({ sync, upstream }, 'first')).filter(({ channel }) => channel === 'gone');
  const id = row?.id ?? '';

  expect(await rejection(context.deliver(id, stop.signal))).toBe(stop.signal.reason);
  const [message] = messages(view()).filter((each) => each.id === id);
  expect(message).toMatchObject({ state: 'pending', attempts: 0, claimedUntil: null, lastError: null });
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

/** Lets these tenants jump; the notifications that came of it. */
async function jumpOf(
  { sync, upstream }: Pick<Fixture, 'sync' | 'upstream'>,
  ...tenants: string[]
): Promise<{ id: string; channel: string }[]> {
  for (const tenantId of tenants) upstream.set({ tenantId, period: '2026-03', credits: 50_000, requests: 10 });
  const { alerts } = await sync();
  // In the order of the configuration, channel by channel, for each alert.
  return alerts.notificationIds.map((id, index) => ({ id, channel: index % 2 === 0 ? 'gone' : 'other' }));
}
