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

test('told open, and the cause is gone: closed, once', async () => {
  const { look, deliver, heard } = await world();
  for (const judgement of [JUMPS, JUMPS, GONE, GONE]) {
    look(judgement);
    deliver(TAKEN);
  }
  expect(heard()).toEqual(['opened', 'closed']);
});

test('who hears of ends at once hears it before who waits for the daily summary', async () => {
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

test('refused for two hours, and the cause is gone meanwhile: nothing', async () => {
  const { look, deliver, heard, pass } = await world();
  look(JUMPS);
  deliver(REFUSED);
  pass(2 * HOUR_MS);
  deliver(REFUSED);
  look(GONE);
  deliver(TAKEN);
  expect(heard()).toEqual([]);
});

test('refused while it grows: one message of what it has come to', async () => {
  const { look, deliver, heard, connection } = await world();
  look(JUMPS);
  deliver(REFUSED);
  look(holds({ level: 'happened', severity: 'critical', threshold: 15_000n, magnitude: 90_000n }), 90_000n);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened']);
  expect(messages(connection)[0]?.payload.credits.current).toBe(90_000);
});

test('refused for almost three days, and the cause is gone: the end is tried for three days itself', async () => {
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

test('nobody knows whether it arrived, and the cause is gone: the same again until it is known, then the end', async () => {
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

test('given up, but it may have arrived: the end is told all the same', async () => {
  const { look, deliver, heard, pass } = await world();
  look(JUMPS);
  deliver(UNKNOWN);
  deliver(DEAD);
  look(GONE);
  pass(1);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'closed']);
});

test('delivered to one and not to the other, and the cause is gone: the one hears the end, the other nothing', async () => {
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

test('a new channel is told of what is open, with when it began', async () => {
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

test('other routes are stored, and a new channel hears of what is open, and of an end whom they leave out, without a run', async () => {
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

test('what a person says by a command that knows other channels is asked for all channels of who sends', async () => {
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

test('a route that takes it no more says so, and says no more', async () => {
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

test('a silence ends by itself or by somebody, and what still holds is told without a run', async () => {
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

test('what goes beyond every plan is told at once, with the bounds of all', async () => {
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
  expect(messages(connection)[0]?.payload.summary).toContain('Planned was growth up to 18,000 and 20,000.');
});

test('acknowledged, and it grows: told, and it fires again', async () => {
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

test('a correction takes what has happened back to what is likely: eased', async () => {
  const { look, deliver, heard, pass } = await world();
  look(JUMPS);
  deliver(TAKEN);
  pass(2 * DAY_MS);
  look(holds({ level: 'likely', severity: 'warning', threshold: 15_000n, magnitude: 18_000n }), 12_000n);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'eased']);
});

test('a dead letter is replayed as what is so: the same, or nothing where it is over', async () => {
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

test('what waited by a clock that was ahead goes at once in a group that is made once the clock is right', async () => {
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

test('of two faults of reading the one explains the other to who is told of it, and to nobody else', async () => {
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

test('an outage that workspaces notice minutes apart is two messages at most, and so is its end', async () => {
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

test('a moment that a clock forty days ahead has worked out is asked for at once', async () => {
  const { state, look, heard, deliver, ask, mute } = await world();
  mute(null, NOON + DAY_MS);
  state.nowMs = NOON + 40 * DAY_MS;
  look(JUMPS);
  state.nowMs = NOON + 2 * DAY_MS;
  ask();
  deliver(TAKEN);
  expect(heard()).toEqual(['opened']);
});

test('critical, and nobody acknowledges it: told again every four hours to who wants that, until somebody does', async () => {
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
