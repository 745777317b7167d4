import { expect, test } from 'vitest';
import { acknowledgeAlert, endSilence } from '../../../src/alerts/actions.ts';
import { evaluateStale } from '../../../src/alerts/evaluate-system.ts';
import { notifyChannels } from '../../../src/alerts/outbox/notify-channels.ts';
import { replayDead } from '../../../src/alerts/outbox/replay.ts';
import { nextAttemptDelayMs } from '../../../src/alerts/pipeline/backoff.ts';
import type { ChannelRoute } from '../../../src/alerts/pipeline/route.ts';
import { clear, holds, type Judgement } from '../../../src/alerts/rules/judgement.ts';
import { observation } from '../../../src/alerts/rules/observation.ts';
import { AlertBook } from '../../../src/alerts/state/alert-book.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { messages, pendingNotifications } from '../../support/messages.ts';
import { publish, usageRecord } from '../../support/open-ledger.ts';
import { giveRoutes, notifying } from '../../support/run/real-run.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { DEAD, GONE, JUMPS, REFUSED, ROUTES, TAKEN, UNKNOWN, world } from './receivers-scene.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

test('sent as open, cause gone: closed, once', async () => {
  const { look, deliver, heard } = await world();
  for (const judgement of [JUMPS, JUMPS, GONE, GONE]) {
    look(judgement);
    deliver(TAKEN);
  }
  expect(heard()).toEqual(['opened', 'closed']);
});

test('a channel with follow_ups: at_once is sent the end before one that waits for the daily summary', async () => {
  const { state, look, deliver, heard, pass } = await world();
  state.channels = ROUTES.flatMap((route) => [route, { ...route, channel: 'b', followUps: 'digest' as const }]);
  look(JUMPS);
  deliver(TAKEN);
  look(GONE);
  deliver(TAKEN);
  expect([heard('a'), heard('b')]).toEqual([['opened', 'closed'], ['opened']]);
  pass(DAY_MS);
  deliver(TAKEN);
  expect([heard('a'), heard('b')]).toEqual([
    ['opened', 'closed'],
    ['opened', 'summary'],
  ]);
});

test('refused for two hours, cause gone meanwhile: nothing', async () => {
  const { look, deliver, heard, pass } = await world();
  look(JUMPS);
  deliver(REFUSED);
  pass(2 * HOUR_MS);
  deliver(REFUSED);
  look(GONE);
  deliver(TAKEN);
  expect(heard()).toEqual([]);
});

test('refused while it grows: one message with the latest figure', async () => {
  const { look, deliver, heard, connection } = await world();
  look(JUMPS);
  deliver(REFUSED);
  look(holds({ level: 'happened', severity: 'critical', threshold: 15_000n, magnitude: 90_000n }), 90_000n);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened']);
  expect(messages(connection)[0]?.payload.credits.current).toBe(90_000);
});

test('refused for almost three days, cause gone: the end is retried for three days itself', async () => {
  const { look, deliver, connection } = await world();
  look(holds({ level: 'likely', severity: 'warning', threshold: 15_000n, magnitude: 14_000n }), 14_000n);
  deliver(TAKEN);
  look(JUMPS);
  for (let failures = 0; failures < 18; failures += 1) deliver(REFUSED);
  look(GONE);
  const failures = pendingNotifications(connection)[0]?.failures ?? 0;
  let waitsMs = 0;
  for (let attempt = failures + 1; nextAttemptDelayMs(attempt, () => 0) !== null; attempt += 1)
    waitsMs += nextAttemptDelayMs(attempt, () => 0) ?? 0;
  expect(waitsMs).toBeGreaterThan(60 * HOUR_MS);
});

test('outcome unknown, cause gone: the same message until the outcome is known, then the end', async () => {
  const { look, deliver, heard, pass, inbox } = await world();
  look(JUMPS);
  deliver(UNKNOWN);
  look(GONE);
  deliver(UNKNOWN);
  expect(heard()).toEqual(['opened', 'opened']);
  deliver(TAKEN);
  pass(1);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'opened', 'opened', 'closed']);
  expect(new Set(inbox.slice(0, 3).map(({ id }) => id)).size).toBe(1);
  expect(inbox.at(-1)?.revision).toBeGreaterThan(inbox[0]?.revision ?? 0);
});

test('given up, but it may have arrived: the end is sent', async () => {
  const { look, deliver, heard, pass } = await world();
  look(JUMPS);
  deliver(UNKNOWN);
  deliver(DEAD);
  look(GONE);
  pass(1);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'closed']);
});

test('delivered to one channel only, cause gone: that one is sent the end, the other nothing', async () => {
  const { state, look, deliver, heard, connection } = await world();
  look(JUMPS);
  deliver(TAKEN);
  state.channels = [...ROUTES, ...ROUTES.map((route) => ({ ...route, channel: 'b' }))];
  look(JUMPS);
  expect(pendingNotifications(connection)).toMatchObject([{ channel: 'b' }]);
  deliver(REFUSED);
  look(GONE);
  deliver(TAKEN);
  expect([heard('a'), heard('b')]).toEqual([['opened', 'closed'], []]);
});

test('a new channel is sent the open alerts with the time they began', async () => {
  const { state, look, deliver, heard, connection, pass } = await world();
  look(JUMPS);
  deliver(TAKEN);
  pass(17 * DAY_MS);
  state.channels = ROUTES.map((route) => ({ ...route, channel: 'renamed' }));
  look(JUMPS);
  deliver(TAKEN);
  expect([heard('a'), heard('renamed')]).toEqual([['opened'], ['opened']]);
  const told = messages(connection).find(({ channel }) => channel === 'renamed');
  expect(told?.payload.began_at).toBe(isoTime(NOON));
});

test('after a route change, a new channel is sent the open alerts and a removed one an end, without a run', async () => {
  const { state, look, deliver, ask, heard } = await world();
  look(JUMPS);
  deliver(TAKEN);
  ask();
  state.channels = ROUTES.flatMap((route) => [
    { ...route, rules: [] },
    { ...route, channel: 'renamed' },
  ]);
  ask();
  deliver(TAKEN);
  expect([heard('a'), heard('renamed')]).toEqual([['opened', 'closed'], ['opened']]);
  expect(ask()).toBe(0);
});

test('an action by a command with other channels is evaluated for all channels of the sender', async () => {
  const { connection, state, look, deliver, heard, pass, mute } = await world();
  const silenceId = mute(null, NOON + 9 * DAY_MS);
  look(JUMPS);
  giveRoutes(connection, []);
  endSilence(connection, { silenceId, by: 'Ada', nowMs: state.nowMs });
  giveRoutes(connection, ROUTES);
  pass(1);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened']);
});

test('a route that no longer takes an alert says so once', async () => {
  const { state, look, deliver, heard } = await world();
  look(JUMPS);
  deliver(TAKEN);
  state.channels = ROUTES.map((route) => ({ ...route, rules: [] }));
  look(JUMPS);
  deliver(TAKEN);
  look(GONE);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'closed']);
});

test('a silence ends or is revoked, and alerts that still hold are sent without a run', async () => {
  for (const early of [false, true]) {
    const { connection, state, look, deliver, heard, pass, mute } = await world();
    const silenceId = mute(null, NOON + DAY_MS);
    look(JUMPS);
    pass(HOUR_MS);
    deliver(TAKEN);
    expect(heard()).toEqual([]);
    if (early) endSilence(connection, { silenceId, by: 'Ada', nowMs: state.nowMs });
    pass(early ? 1 : DAY_MS);
    deliver(TAKEN);
    expect(heard()).toEqual(['opened']);
    const [told] = connection.prepare('SELECT muted_because FROM finance_alerts').all();
    expect(told).toEqual({ muted_because: null });
  }
});

test('an alert beyond all plans is sent at once, with the limit of each', async () => {
  const { look, deliver, heard, connection, mute } = await world();
  mute(18_000n, NOON + 9 * DAY_MS);
  mute(20_000n, NOON + 9 * DAY_MS);
  const grown = (credits: bigint) => {
    look(holds({ level: 'happened', severity: 'critical', threshold: 15_000n, magnitude: credits }), credits);
    deliver(TAKEN);
  };
  grown(17_000n);
  grown(19_000n);
  expect(heard()).toEqual([]);
  grown(24_000n);
  expect(heard()).toEqual(['opened']);
  expect(messages(connection)[0]?.payload.summary).toContain('Planned: up to 18,000 and 20,000.');
});

test('acknowledged, then it grows: sent, and it fires again', async () => {
  const { look, deliver, heard, connection, state, pass } = await world();
  const alertId = look(JUMPS).changes[0]?.alertId ?? '';
  deliver(TAKEN);
  acknowledgeAlert(connection, { alertId, by: 'Ada', note: null, nowMs: state.nowMs });
  look(JUMPS);
  pass(2 * DAY_MS);
  look(holds({ level: 'happened', severity: 'critical', threshold: 15_000n, magnitude: 24_000n }), 24_000n);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'grown']);
  expect(connection.prepare('SELECT state, notified_count FROM alerts').get()).toEqual({
    state: 'firing',
    notified_count: 1,
  });
});

test('a correction from happened to likely: eased', async () => {
  const { look, deliver, heard, pass } = await world();
  look(JUMPS);
  deliver(TAKEN);
  pass(2 * DAY_MS);
  look(holds({ level: 'likely', severity: 'warning', threshold: 15_000n, magnitude: 18_000n }), 12_000n);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'eased']);
});

test('a replayed message is sent in its current state, or not at all if the alert is over', async () => {
  const { look, deliver, heard, connection, state } = await world();
  look(JUMPS);
  deliver(DEAD);
  look(JUMPS);
  expect(messages(connection)).toMatchObject([{ state: 'dead' }]);
  const again = () => replayDead(connection, { notificationIds: null, ...notifying(connection, state.nowMs) });
  expect(again()).toMatchObject({ replayed: [{}], dropped: [] });
  deliver(DEAD);
  look(GONE);
  expect(again()).toMatchObject({ replayed: [], dropped: [{}] });
  deliver(TAKEN);
  expect(heard()).toEqual([]);
});

test.each([
  ['what is still so is told at once', JUMPS, 'again'],
  ['what is over is told as closed', GONE, 'closed'],
])('a dead letter that may have arrived is replayed: %s', async (_, judgement, last) => {
  const { look, deliver, heard, connection, state } = await world();
  look(JUMPS);
  deliver(UNKNOWN);
  deliver(DEAD);
  expect(replayDead(connection, { notificationIds: null, ...notifying(connection, state.nowMs) })).toMatchObject({
    replayed: [{}],
    dropped: [],
  });
  look(judgement);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', last]);
});

test('an outage of several workspaces is one message, and so is its end', async () => {
  const { connection, state, deliver, heard, context } = await world();
  for (const id of ['ws-2', 'ws-3'])
    await publish(connection, [usageRecord('acme', 1)], { workspaceId: id, nowMs: NOON });
  const stale = ['ws-1', 'ws-2', 'ws-3'].map((workspaceId) => ({ workspaceId, sinceMs: 2, staleAfterMs: 1 }));
  evaluateStale(connection, stale, notifying(connection, state.nowMs));
  deliver(TAKEN);
  expect(heard()).toEqual(['opened together']);
  for (const [index, workspaceId] of ['ws-1', 'ws-2', 'ws-3'].entries()) {
    const book = new AlertBook({ ...context(), workspaceKey: index + 1, workspaceId });
    for (const alert of book.open()) {
      const { rule, periodKey, tenantKey } = alert;
      book.observe(observation({ rule, periodKey, tenantKey, judgement: GONE }), alert);
    }
    notifyChannels(book);
  }
  deliver(TAKEN);
  expect(heard()).toEqual(['opened together', 'closed together']);
});

test('a notification scheduled by a clock that was ahead is sent at once with its group when the clock is right', async () => {
  const { connection, state, context, deliver, ask, heard } = await world();
  const [first] = ROUTES as readonly ChannelRoute[];
  if (first === undefined) throw new Error('no route');
  const say = (workspaceKey: number, judgement: Judgement): void => {
    const book = new AlertBook({ ...context(), workspaceKey, workspaceId: `ws-${workspaceKey}` });
    book.observe(observation({ rule: 'sync_stale', periodKey: null, tenantKey: null, judgement }));
    notifyChannels(book);
  };
  const stale = [1, 2].map((name) => ({ workspaceId: `ws-${name}`, sinceMs: 2, staleAfterMs: 1 }));
  evaluateStale(connection, stale, notifying(connection, state.nowMs));
  deliver(TAKEN);
  state.nowMs += 2 * HOUR_MS;
  say(1, GONE);
  state.nowMs -= 2 * HOUR_MS - 60_000;
  say(2, GONE);
  ask();
  deliver(TAKEN);
  expect(heard()).toEqual(['opened together', 'closed together']);
});

test('one system alert inhibits another for the channels that take it, and for no others', async () => {
  const { connection, state, context, deliver, heard } = await world();
  const [first] = ROUTES as readonly ChannelRoute[];
  if (first === undefined) throw new Error('no route');
  state.channels = [first, { ...first, channel: 'b', rules: ['sync_stale'] }];
  const failing = holds({ level: 'happened', severity: 'critical', threshold: null });
  const book = new AlertBook(context());
  book.observe(
    observation({ rule: 'sync_failed', cause: 'service', periodKey: null, tenantKey: null, judgement: failing }),
  );
  notifyChannels(book);
  evaluateStale(connection, [{ workspaceId: 'ws-1', sinceMs: 2, staleAfterMs: 1 }], notifying(connection, state.nowMs));
  deliver(TAKEN);
  expect(heard()).toEqual(['opened']);
  expect(heard('b')).toEqual(['opened']);
});

test('an outage detected by workspaces minutes apart is at most two messages, and so is its end', async () => {
  const { connection, state, deliver, heard } = await world();
  const names = Array.from({ length: 77 }, (_, index) => `ws-${String(index + 100)}`);
  const stale = (workspaceId: string) => [{ workspaceId, sinceMs: 3 * HOUR_MS, staleAfterMs: HOUR_MS }];
  for (const name of names) {
    evaluateStale(connection, stale(name), notifying(connection, state.nowMs));
    deliver(TAKEN);
    state.nowMs += 5_000;
  }
  state.nowMs += 600_000;
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'opened together']);
  for (const name of names) {
    const { workspace_key: workspaceKey } = connection
      .prepare('SELECT workspace_key FROM workspaces WHERE workspace_id = ?')
      .get(name) as { workspace_key: number };
    const book = new AlertBook({
      ...{ connection, workspaceKey, workspaceId: name, runKey: null, runId: null, actor: 'timer' as const },
      ...{ seeding: false, at: isoTime(state.nowMs), ...notifying(connection, state.nowMs) },
    });
    book.observe(observation({ rule: 'sync_stale', periodKey: null, tenantKey: null, judgement: clear(true) }));
    notifyChannels(book);
    deliver(TAKEN);
    state.nowMs += 5_000;
  }
  state.nowMs += 600_000;
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'opened together', 'closed', 'closed together']);
  const told = connection
    .prepare("SELECT count(*) AS alerts FROM alert_notified WHERE channel = 'a' AND open = 0")
    .get();
  expect(told).toEqual({ alerts: 77 });
});

test('a due time set by a clock forty days ahead is evaluated at once', async () => {
  const { state, look, heard, deliver, ask, mute } = await world();
  mute(null, NOON + DAY_MS);
  state.nowMs = NOON + 40 * DAY_MS;
  look(JUMPS);
  state.nowMs = NOON + 2 * DAY_MS;
  ask();
  deliver(TAKEN);
  expect(heard()).toEqual(['opened']);
});

test('critical and not acknowledged: a reminder every four hours where set, until acknowledged', async () => {
  const { connection, state, look, deliver, heard, pass } = await world();
  const [first] = ROUTES as readonly ChannelRoute[];
  if (first === undefined) throw new Error('no route');
  state.channels = [
    { ...first, remindAfterMs: 4 * HOUR_MS },
    { ...first, channel: 'b' },
  ];
  look(JUMPS);
  deliver(TAKEN);
  const wait = (ms: number) => {
    pass(ms);
    deliver(TAKEN);
  };
  wait(3 * HOUR_MS);
  expect(heard()).toEqual(['opened']);
  wait(HOUR_MS);
  wait(HOUR_MS);
  wait(3 * HOUR_MS);
  expect(heard()).toEqual(['opened', 'reminder', 'reminder']);
  expect(heard('b')).toEqual(['opened']);
  const alertId = connection.prepare('SELECT alert_id FROM alerts').pluck().get() as string;
  acknowledgeAlert(connection, { alertId, by: 'Ada', note: null, nowMs: state.nowMs });
  wait(8 * HOUR_MS);
  look(GONE);
  look(GONE);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'reminder', 'reminder', 'closed']);
});

test('a reminder that falls due at night or at the weekend waits for the working hours of its channel', async () => {
  const { state, look, deliver, heard, pass } = await world();
  const [first] = ROUTES as readonly ChannelRoute[];
  if (first === undefined) throw new Error('no route');
  const working = { remindWeekdays: 'mon-fri', remindHours: '08:00-18:00', timezone: 'Europe/Berlin' };
  state.channels = [{ ...first, ...working, remindAfterMs: 4 * HOUR_MS }];
  look(JUMPS);
  deliver(TAKEN);
  // Friday, 20 March: 13:00 in Berlin. The first reminder is due at 17:00, the next one at 21:00.
  const heardAfter = (ms: number) => {
    pass(ms);
    deliver(TAKEN);
    return heard();
  };
  expect(heardAfter(4 * HOUR_MS)).toEqual(['opened', 'reminder']);
  expect(heardAfter(4 * HOUR_MS)).toEqual(['opened', 'reminder']);
  expect(heardAfter(24 * HOUR_MS)).toEqual(['opened', 'reminder']);
  // Monday, 07:59 in Berlin, a minute later, and in the afternoon of the day.
  state.nowMs = Date.parse('2026-03-23T06:59:00Z');
  expect(heardAfter(0)).toEqual(['opened', 'reminder']);
  expect(heardAfter(60_000)).toEqual(['opened', 'reminder', 'reminder']);
  expect(heardAfter(4 * HOUR_MS)).toEqual(['opened', 'reminder', 'reminder', 'reminder']);
});
