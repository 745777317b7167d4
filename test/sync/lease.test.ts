import { expect, test } from 'vitest';
import type { RunAlerts } from '../../src/alerts/track/alert-change.ts';
import { LEASE_MS } from '../../src/ledger/journal/runs/claim-run.ts';
import { openInProcessWriter } from '../../src/writer/in-process-writer.ts';
import { gate } from '../support/gate.ts';
import { rejection } from '../support/rejection.ts';
import { applied, type Fixture, manualOrder, startFixture } from '../support/sandbox-fixture.ts';

const SLOT = '2026-03-20T12:00:00.000Z';

test('the same slot synced twice is done once, and the second says by which run', async () => {
  const { context, another, sandbox } = await startFixture({ thread: true });
  const order = manualOrder({ kind: 'scheduled', slot: SLOT });
  const first = applied(await context.sync(order));
  sandbox.requests.clear();

  expect(await another().sync(order)).toEqual({ status: 'already_done', workspaceId: 'ws-1', runId: first.runId });
  expect(sandbox.requests.count).toBe(0);
});

test('a second process is told to wait while the first one syncs, and the first one is not disturbed', async () => {
  const fixture = await startFixture({ thread: true });
  const { sync, another } = fixture;
  const rival = another();
  const held = holdFirstRequest(fixture);
  const run = sync();
  await held.reached;

  const error = await rejection(rival.sync(manualOrder()));
  held.release();

  expect(error).toMatchObject({ name: 'LeaseHeldError', code: 'lease_held', retryable: true, retryAfterMs: LEASE_MS });
  expect((await run).entries).toBe(1);
});

test('a run that sleeps longer than its lease is fenced off: the one that took over stays the truth', async () => {
  const fixture = await startFixture({ thread: true });
  const { sync, another, clock, upstream, view } = fixture;
  const rival = another();
  const held = holdFirstRequest(fixture);
  const sleeper = rejection(sync());
  await held.reached;
  clock.advance(LEASE_MS);
  const winner = applied(await rival.sync(manualOrder()));
  const ledger = view();
  const before = ledger.dump();
  upstream.set({ tenantId: 'a', period: '2026-03', credits: 999, requests: 9 });
  held.release();

  expect(await sleeper).toMatchObject({ code: 'fenced', retryable: true });
  expect(ledger.dump()).toBe(before);
  expect(ledger.rows('SELECT run_id, status FROM finance_runs ORDER BY status')).toMatchObject([
    { run_id: winner.runId, status: 'applied' },
    { status: 'superseded' },
  ]);
});

test.each([
  { writer: 'a thread of its own', overrides: {} },
  { writer: 'the process', overrides: { openWriter: openInProcessWriter } },
])('a take-over is nobody’s fault: no alert is raised of it, with the writer in $writer', async ({ overrides }) => {
  const fixture = await startFixture({ thread: true });
  const { clock, view, another } = fixture;
  const slow = another(undefined, overrides);
  await another().sync(manualOrder());
  const held = holdFirstRequest(fixture);
  const raised: RunAlerts[] = [];
  const sleeper = rejection(slow.sync(manualOrder({ onFailure: (alerts) => void raised.push(alerts) })));
  await held.reached;
  clock.advance(LEASE_MS);
  await another(undefined, overrides).sync(manualOrder());
  held.release();

  expect(await sleeper).toMatchObject({ code: 'fenced', retryable: true });
  expect(raised).toEqual([{ changes: [], notificationIds: [] }]);
  expect(view().rows("SELECT * FROM alerts WHERE rule = 'sync_failed'")).toEqual([]);
});

/** One record upstream, and a service that keeps its first answer until `release`. */
function holdFirstRequest({ sandbox, upstream }: Fixture): { reached: Promise<void>; release: () => void } {
  upstream.set({ tenantId: 'a', period: '2026-03', credits: 1, requests: 1 });
  const reached = gate();
  const released = gate();
  const run = (): Promise<void> => {
    reached.open();
    return released.opened;
  };
  sandbox.faults.push({ action: { type: 'before', run } });
  return { reached: reached.opened, release: released.open };
}
