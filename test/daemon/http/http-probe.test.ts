import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import type { Config, WorkspaceConfig } from '../../../src/config/types.ts';
import { createHealthProbe, type HealthProbe, ledgerFault } from '../../../src/daemon/http/probe.ts';
import { longestPauseMs } from '../../../src/freshness/staleness.ts';
import { failRun } from '../../../src/ledger/journal/runs/fail-run.ts';
import { pruneRuns } from '../../../src/ledger/journal/runs/prune-runs.ts';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { plantMessage } from '../../support/messages.ts';
import {
  applyWalk,
  beginRun,
  type OpenLedger,
  openLedger,
  publish,
  stageWalk,
  usageRecord,
} from '../../support/open-ledger.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { createVirtualClock, type VirtualClock } from '../../support/time/virtual-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const counts = { waiting: 1, active: 0, delayed: 0, completed: 0, failed: 0 };

interface Probed {
  ledger: OpenLedger;
  clock: VirtualClock;
  probe: HealthProbe;
  /** Since when jobs wait for their place, by workspace. */
  waiting: Map<string, number>;
}

function probed(
  crons: Record<string, string> = { 'ws-1': '*/15 * * * *' },
  ledger = openLedger(),
  writerFault: string | null = null,
): Probed {
  const clock = createVirtualClock(NOON);
  const reader = openReader(ledger.path);
  onTestFinished(() => reader.close());
  const workspaces = Object.entries(crons).map(([id, cron]) => ({ id, cron, runMinutes: 30 }) as WorkspaceConfig);
  const waiting = new Map<string, number>();
  const config = {
    ledger: { path: ledger.path, retentionDays: 400 },
    http: { readyWhenStalePercent: 10 } as Config['http'],
    workspaces,
  };
  const queue = { redisUp: true, redisFault: null, counts: async () => counts };
  const probe = createHealthProbe(
    { reader: () => reader, config, clock, writerFault },
    queue,
    (id) => waiting.get(id) ?? null,
    () => null,
  );
  return { ledger, clock, probe, waiting };
}

test('the longest pause includes nights and weekends', () => {
  expect(longestPauseMs({ cron: '* * * * *', timezone: 'UTC' }, NOON)).toBe(MINUTE_MS);
  expect(longestPauseMs({ cron: '*/15 * * * *', timezone: 'UTC' }, NOON)).toBe(15 * MINUTE_MS);
  expect(longestPauseMs({ cron: '20,0 * * * *', timezone: 'UTC' }, NOON)).toBe(40 * MINUTE_MS);
  expect(longestPauseMs({ cron: '*/10 9-17 * * *', timezone: 'UTC' }, NOON)).toBe(15 * HOUR_MS + 10 * MINUTE_MS);
  expect(longestPauseMs({ cron: '30 4 * * *', timezone: 'UTC' }, NOON)).toBe(24 * HOUR_MS);
  // From Friday 17:59 to Monday 9:00, seen from a Tuesday too.
  for (const nowMs of [NOON, NOON + 4 * 24 * HOUR_MS]) {
    expect(longestPauseMs({ cron: '* 9-17 * * 1-5', timezone: 'UTC' }, nowMs)).toBe(63 * HOUR_MS + MINUTE_MS);
  }
  expect(longestPauseMs({ cron: '0 0 1 * *', timezone: 'UTC' }, NOON)).toBe(31 * 24 * HOUR_MS);
  expect(longestPauseMs({ cron: '0 0 1 1 *', timezone: 'UTC' }, NOON)).toBe(366 * 24 * HOUR_MS);
});

test('a workspace is stale when its last complete run is older than two pauses and a minute', async () => {
  const { ledger, clock, probe } = probed();
  const runAtMs = NOON + HOUR_MS;
  await publish(ledger.connection, [usageRecord('acme', 10)], { nowMs: runAtMs });
  const staleAfterMs = 31 * MINUTE_MS;
  const fresh = { workspaceId: 'ws-1', lastCompleteRunAtMs: runAtMs, staleAfterMs, stale: false };
  await clock.advance(HOUR_MS + staleAfterMs);
  expect(probe.freshness()).toEqual([fresh]);
  await clock.advance(1);
  expect(probe.freshness()).toEqual([{ ...fresh, stale: true }]);
});

test('a run in progress, or a queued job, gets the time that a run may take', async () => {
  const { ledger, clock, probe, waiting } = probed();
  const stale = () => probe.freshness().map((workspace) => workspace.stale)[0];
  await publish(ledger.connection, [usageRecord('acme', 10)], { nowMs: NOON });
  await clock.advance(32 * MINUTE_MS);
  expect(stale()).toBe(true);
  waiting.set('ws-1', clock.now());
  expect(stale()).toBe(false);
  await clock.advance(31 * MINUTE_MS);
  expect(stale()).toBe(true);
  waiting.clear();
  const { run } = beginRun(ledger.connection, { nowMs: clock.now() });
  expect(stale()).toBe(false);
  failRun(
    ledger.connection,
    run,
    { status: 'failed', code: 'timeout', message: '', pages: 0, records: 0 },
    clock.now(),
  );
  expect(stale()).toBe(true);
  // One that fails again and again is stale also while it is tried once more.
  beginRun(ledger.connection, { nowMs: clock.now() });
  expect(stale()).toBe(true);
});

test('a run that exceeds its time limit makes its workspace stale', async () => {
  const { ledger, clock, probe } = probed();
  await publish(ledger.connection, [usageRecord('acme', 10)], { nowMs: NOON });
  beginRun(ledger.connection, { nowMs: NOON + 15 * MINUTE_MS });
  await clock.advance(45 * MINUTE_MS);
  expect(probe.freshness()[0]?.stale).toBe(false);
  await clock.advance(1);
  expect(probe.freshness()[0]?.stale).toBe(true);
});

test('the limit counts from the start of the daemon for workspaces never synced or synced long ago', async () => {
  const ledger = openLedger();
  const longAgoMs = NOON - 48 * HOUR_MS;
  await publish(ledger.connection, [usageRecord('acme', 10)], { workspaceId: 'old', nowMs: longAgoMs });
  const { clock, probe } = probed({ old: '*/15 * * * *', new: '0 * * * *' }, ledger);
  const states = () => probe.freshness().map(({ workspaceId, stale }) => [workspaceId, stale]);
  expect(probe.freshness().map(({ lastCompleteRunAtMs }) => lastCompleteRunAtMs)).toEqual([longAgoMs, null]);
  await clock.advance(31 * MINUTE_MS);
  expect(states()).toEqual([
    ['old', false],
    ['new', false],
  ]);
  await clock.advance(1);
  expect(states()).toEqual([
    ['old', true],
    ['new', false],
  ]);
  await clock.advance(90 * MINUTE_MS);
  expect(states()).toEqual([
    ['old', true],
    ['new', true],
  ]);
});

test('a job or run with a time in the future gets no extra time', async () => {
  const { ledger, clock, probe, waiting } = probed();
  const stale = () => probe.freshness()[0]?.stale;
  await publish(ledger.connection, [usageRecord('acme', 10)], { nowMs: NOON });
  await clock.advance(32 * MINUTE_MS);
  waiting.set('ws-1', clock.now() + 9 * HOUR_MS);
  expect(stale()).toBe(true);
  waiting.set('ws-1', clock.now() + MINUTE_MS / 2);
  expect(stale()).toBe(false);
  waiting.clear();
  beginRun(ledger.connection, { nowMs: clock.now() + 9 * HOUR_MS });
  expect(stale()).toBe(true);
});

test('a ledger with a dead writer counts as not writable, even if its file is', () => {
  expect(probed().probe.writeFault()).toBeNull();
  expect(probed({}, openLedger(), 'the writer has ended').probe.writeFault()).toBe('the writer has ended');
});

test('a failed run does not make a workspace fresh', async () => {
  const { ledger, clock, probe } = probed();
  await publish(ledger.connection, [usageRecord('acme', 10)]);
  const { run } = beginRun(ledger.connection, { nowMs: NOON + HOUR_MS });
  failRun(ledger.connection, run, { status: 'failed', code: 'x', message: 'x', pages: 0, records: 0 }, NOON + HOUR_MS);
  await clock.advance(HOUR_MS);
  expect(probe.freshness()).toMatchObject([{ lastCompleteRunAtMs: NOON, stale: true }]);
});

test('ended runs are counted once', async () => {
  const { ledger, probe } = probed();
  const { connection } = ledger;
  const took: number[] = [];
  probe.onRun((seconds) => took.push(seconds));
  expect(probe.runs()).toEqual([]);
  await publish(connection, [usageRecord('acme', 10)]);
  await publish(connection, [usageRecord('acme', 10)]);
  await publish(connection, [usageRecord('acme', 10)], { workspaceId: 'ws-2' });
  const first = [
    { workspaceId: 'ws-1', status: 'applied', count: 2, seconds: 0, pages: 2, records: 2 },
    { workspaceId: 'ws-2', status: 'applied', count: 1, seconds: 0, pages: 1, records: 1 },
  ];
  expect(probe.runs()).toEqual(first);

  const underWay = beginRun(connection);
  const { run } = beginRun(connection, { workspaceId: 'ws-2' });
  expect(probe.runs()).toEqual(first);

  stageWalk(underWay, [usageRecord('acme', 11)]);
  applyWalk(underWay);
  failRun(connection, run, { status: 'unstable', code: 'x', message: 'x', pages: 1, records: 1 }, NOON);
  const second = [
    { workspaceId: 'ws-1', status: 'applied', count: 3, seconds: 0, pages: 3, records: 3 },
    { workspaceId: 'ws-2', status: 'applied', count: 1, seconds: 0, pages: 1, records: 1 },
    { workspaceId: 'ws-2', status: 'unstable', count: 1, seconds: 0, pages: 1, records: 1 },
  ];
  expect(probe.runs()).toEqual(second);
  expect(probe.runs()).toEqual(second);
  expect(took).toHaveLength(5);
});

test('a run that was running at one scrape and pruned before the next is not counted', async () => {
  const { ledger, probe } = probed();
  const { connection } = ledger;
  const { run } = beginRun(connection);
  expect(probe.runs()).toEqual([]);
  failRun(connection, run, { status: 'failed', code: 'x', message: 'x', pages: 1, records: 1 }, NOON);
  // The last run of a workspace stays.
  await publish(connection, [usageRecord('acme', 10)]);
  expect(pruneRuns(connection, '2099-01-01T00:00:00.000Z', NOON)).toMatchObject({ runs: 1 });
  expect(probe.runs()).toMatchObject([{ workspaceId: 'ws-1', status: 'applied', count: 1 }]);
});

test('open alerts are counted by severity, notifications by state', async () => {
  const { ledger, probe } = probed();
  expect(probe.openAlerts()).toEqual([
    { severity: 'warning', count: 0 },
    { severity: 'critical', count: 0 },
  ]);
  expect(probe.outbox()).toEqual({ pending: 0, held: 0, dead: 0 });
  await publish(ledger.connection, [usageRecord('acme', 10)]);
  const addAlert = ledger.connection.prepare(
    `INSERT INTO alerts (alert_id, rule, rule_version, workspace_key, level, severity, state, previous_credits,
       current_credits, previous_requests, current_requests, threshold, first_fired_at, last_changed_at, revision)
     VALUES (@id, @id, 1, 1, 'likely', @severity, @state, 1, 2, 1, 2, 1, '2026', '2026', 1)`,
  );
  const states = ['pending', 'firing', 'acknowledged', 'resolved', 'expired'];
  for (const state of states) addAlert.run({ id: `critical-${state}`, severity: 'critical', state });
  addAlert.run({ id: 'warning-firing', severity: 'warning', state: 'firing' });
  for (const [id, state] of (['fresh', 'possible', 'refused', 'delivered', 'dead'] as const).entries())
    plantMessage(ledger.connection, { id: `n${id}`, alertKey: 1, channel: 'log', state, createdAt: '2026' });
  const owe = ledger.connection.prepare(
    "INSERT INTO alert_notified (alert_key, channel, pending, batch, due_at) VALUES (1, ?, 'opened 1 likely 0', ?, '2026')",
  );
  owe.run('log', null);
  owe.run('daily', 'digest');

  expect(probe.openAlerts()).toEqual([
    { severity: 'warning', count: 1 },
    // One that is pending is told to nobody, so it is not open.
    { severity: 'critical', count: 2 },
  ]);
  expect(probe.outbox()).toEqual({ pending: 3, held: 1, dead: 1 });
});

test('a ledger is writable while it exists and its disk has room', () => {
  const { ledger, probe } = probed();
  expect(probe.writeFault()).toBeNull();
  expect(ledgerFault(ledger.path, Number.MAX_SAFE_INTEGER)).toMatch(/^only \d+ bytes free in /);
  rmSync(ledger.path);
  expect(probe.writeFault()).toContain('ENOENT');
});
