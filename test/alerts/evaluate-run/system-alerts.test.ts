import { mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { evaluateStale } from '../../../src/alerts/evaluate-system.ts';
import type { LedgerView } from '../../support/ledger-view.ts';
import { deliverWaiting, type Ledger, notifications, pendingMessages } from '../../support/messages.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { rejection } from '../../support/rejection.ts';
import { notifying } from '../../support/run/real-run.ts';
import { type Fixture, manualOrder, startFixture, WORKSPACE } from '../../support/sandbox-fixture.ts';
import { NOON } from '../../support/time/test-clock.ts';

const HOUR_MS = 3_600_000;
const STALE = { workspaceId: WORKSPACE, sinceMs: 31 * 60_000, staleAfterMs: 31 * 60_000 - 1 };

test('a temporary failure is sent at the second failed run, and resolved once by a complete one', async () => {
  const fixture = await startWithUsage();
  const { sync, view, upstream } = fixture;
  const ledger = view();
  await breakService(fixture);
  expect(states(ledger)).toEqual(['sync_failed:service pending']);
  expect(told(ledger)).toEqual([]);

  await breakService(fixture);
  await breakService(fixture);
  expect(states(ledger)).toEqual(['sync_failed:service firing']);
  expect(told(ledger)).toEqual(['sync_failed:service alert.firing']);

  upstream.set({ tenantId: 'a', period: '2026-03', credits: 5, requests: 1 });
  await sync();
  await sync();
  expect(states(ledger)).toEqual(['sync_failed:service resolved']);
  expect(told(ledger)).toEqual(['sync_failed:service alert.firing', 'sync_failed:service alert.resolved']);
});

test('the first complete run of a workspace, which notifies nobody, ends a system alert for its channels', async () => {
  const fixture = await startFixture();
  const { sync, view, upstream } = fixture;
  await breakService(fixture);
  await breakService(fixture);
  upstream.set({ tenantId: 'a', period: '2026-03', credits: 5, requests: 1 });
  await sync();

  const ledger = view();
  expect(states(ledger)).toEqual(['sync_failed:service resolved']);
  expect(told(ledger)).toEqual(['sync_failed:service alert.firing', 'sync_failed:service alert.resolved']);
});

test('a failed run followed by a complete one is not sent', async () => {
  const fixture = await startWithUsage();
  const { sync, view } = fixture;
  await breakService(fixture);
  await sync();

  const ledger = view();
  expect(states(ledger)).toEqual(['sync_failed:service expired']);
  expect(told(ledger)).toEqual([]);
});

test('refused credentials are sent at once, and inhibit the alert about missing runs', async () => {
  const { another, context, view } = await startWithUsage();
  const stranger = another((config) => ({
    ...config,
    workspaces: config.workspaces.map((workspace) => ({
      ...workspace,
      keys: [{ apiKeyId: 'ak_test_1', secretKey: 'sk_wrong_not_a_secret' }],
    })),
  }));
  expect((await rejection(stranger.sync(manualOrder()))).code).toBe('unauthorized');
  expect(await context.raiseStale([STALE])).toBe(0);
  await deliverWaiting(context);

  const ledger = view();
  expect(states(ledger)).toEqual(['sync_failed:credentials firing', 'sync_stale firing']);
  expect(told(ledger)).toEqual(['sync_failed:credentials alert.firing']);
  expect(ledger.value("SELECT muted_because FROM finance_alerts WHERE rule = 'sync_stale'")).toMatch(
    /^inhibited:alert_/,
  );
});

test('a wrong clock is named as the cause', async () => {
  const { another, view, clock } = await startWithUsage();
  const early = another(undefined, { clock: { ...clock, now: () => clock.now() - 2 * HOUR_MS } });
  expect((await rejection(early.sync(manualOrder()))).code).toBe('unauthorized');

  expect(states(view())).toEqual(['sync_failed:clock firing']);
});

test('a workspace without a complete run is sent once, by the timer, and resolved by the next run', async () => {
  const { context, sync, view } = await startWithUsage();
  expect(await context.raiseStale([{ ...STALE, staleAfterMs: STALE.sinceMs }])).toBe(0);
  expect(await context.raiseStale([STALE])).toBe(1);
  await deliverWaiting(context);
  expect(await context.raiseStale([{ ...STALE, sinceMs: 2 * STALE.sinceMs }])).toBe(0);

  const ledger = view();
  expect(ledger.rows('SELECT actor, run_key, evidence FROM alert_transitions')).toMatchObject([
    { actor: 'timer', run_key: null, evidence: expect.stringContaining('no complete run for 31 min') },
  ]);
  const { alerts } = await sync();
  expect(alerts.changes).toMatchObject([{ rule: 'sync_stale', change: 'resolved', silent: false }]);
  expect(told(ledger)).toEqual(['sync_stale alert.firing', 'sync_stale alert.resolved']);
});

test('a workspace without any run is sent as well', async () => {
  const { context, view } = await startWithUsage();
  expect(await context.raiseStale([{ ...STALE, workspaceId: 'ws-never' }])).toBe(1);
  expect(await context.raiseStale([{ ...STALE, workspaceId: 'ws-never' }])).toBe(0);
  expect(view().rows('SELECT workspace_id, rule, state FROM finance_alerts')).toEqual([
    { workspace_id: 'ws-never', rule: 'sync_stale', state: 'firing' },
  ]);
});

test('a run stopped on purpose raises no alert', async () => {
  const { context, view } = await startWithUsage();
  const stop = new AbortController();
  stop.abort(new Error('asked to stop'));
  await rejection(context.sync(manualOrder({ signal: stop.signal })));

  expect(view().value('SELECT count(*) FROM alerts')).toBe(0n);
});

test('a stale workspace is sent while another process waits to write', async () => {
  const { connection, path } = openLedger();
  await publish(connection, [usageRecord('a', 1)]);
  const other = openLedger(path).connection;
  other.pragma('busy_timeout = 0');
  const healthy = { workspaceId: 'ws-1', sinceMs: 0, staleAfterMs: 1 };
  const stale = {
    sinceMs: 2,
    staleAfterMs: 1,
    /** Asked for once the one before it has been looked at. */
    get workspaceId() {
      try {
        other.exec("INSERT INTO ledger_meta (name, value) VALUES ('other', '') ON CONFLICT DO NOTHING");
      } catch (error) {
        expect(error).toMatchObject({ code: 'SQLITE_BUSY' });
      }
      return 'ws-1';
    },
  };

  const { changes } = evaluateStale(connection, [healthy, stale], notifying(connection, NOON));

  expect(changes).toMatchObject([{ rule: 'sync_stale', change: 'fired' }]);
});

test('a failed checkpoint raises an alert about the ledger, and a successful one ends it', async () => {
  const { config, sync, view } = await startWithUsage();
  const log = `${dirname(config.ledger.path)}/checkpoints.log`;
  renameSync(log, `${log}.away`);
  mkdirSync(log);
  await sync();
  const rows = () => view().rows("SELECT cause, workspace_id, state FROM finance_alerts WHERE rule = 'job_failed'");
  expect(rows()).toEqual([{ cause: 'checkpoint', workspace_id: null, state: 'firing' }]);
  rmdirSync(log);
  await sync();
  expect(rows()).toEqual([{ cause: 'checkpoint', workspace_id: null, state: 'resolved' }]);
  expect(told(view())).toEqual(['job_failed:checkpoint alert.firing', 'job_failed:checkpoint alert.resolved']);
});

async function startWithUsage(): Promise<Fixture> {
  const fixture = await startFixture();
  fixture.upstream.set({ tenantId: 'a', period: '2026-03', credits: 4, requests: 1 });
  await fixture.sync();
  return fixture;
}

/** One run against a service that answers with errors. */
async function breakService({ sandbox, context }: Fixture): Promise<void> {
  sandbox.faults.push({ times: Number.POSITIVE_INFINITY, action: { type: 'status', status: 500 } });
  await rejection(context.sync(manualOrder())).finally(() => sandbox.faults.clear());
  await deliverWaiting(context);
}

function states(ledger: LedgerView): string[] {
  const rows = ledger.rows(
    `SELECT rule || coalesce(':' || cause, '') AS rule, state FROM finance_alerts ORDER BY rule`,
  );
  return rows.map(({ rule, state }) => `${String(rule)} ${String(state)}`);
}

function told(ledger: Ledger): string[] {
  return notifications(ledger).map(({ payload: { rule, cause, type } }) => {
    return `${cause === null ? rule : `${rule}:${cause}`} ${type}`;
  });
}

test('a daemon that starts with another channel sends it the open alerts, without a run', async () => {
  const fixture = await startWithUsage();
  await breakService(fixture);
  await breakService(fixture);
  const { view, another, context } = fixture;
  // What was sent is asked for once more.
  await context.compose();
  const renamed = another((config) => ({ ...config, alerts: { channels: [{ type: 'log', name: 'renamed' }] } }));
  await renamed.evaluateAll();
  expect(await renamed.compose()).toBe(1);
  expect(await renamed.compose()).toBe(0);
  expect(pendingMessages(view())).toMatchObject([{ channel: 'renamed', event: 'opened' }]);
});
