import { type ChildProcess, execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { LEASE_MS } from '../../src/ledger/journal/runs/claim-run.ts';
import { eventually } from '../support/eventually.ts';
import { expectPublishedOnce, RECORDS, startPlace, verify } from './sync-process.ts';

test('a process killed while it walks is taken over at once, without waiting for its lease', async () => {
  const place = await startPlace();
  const held = place.holdNext({ page: 2 });
  const killed = place.sync();
  await held.reachedBy(killed);
  killed.child.kill('SIGKILL');
  expect(await killed.ended).toMatchObject({ code: 'SIGKILL' });
  held.release();

  expect(await place.sync().ended).toMatchObject({ code: 0, workspace: { status: 'applied', entries: RECORDS } });
  expectPublishedOnce(place, place.view());
});

test('a process frozen past its lease applies nothing when it wakes: the one that took over has published', async () => {
  const place = await startPlace();
  const held = place.holdNext({ page: 2 });
  const frozen = place.sync();
  await held.reachedBy(frozen);
  await freeze(frozen.child);

  const winner = await place.sync({ aheadMs: LEASE_MS + 1_000 }).ended;
  const ledger = place.view();
  const before = ledger.dump();
  place.sandbox.workspace().set({ tenantId: 'tenant-1', period: '2026-01', credits: 999, requests: 9 });
  held.release();
  frozen.child.kill('SIGCONT');

  expect(winner).toMatchObject({ code: 0, workspace: { status: 'applied', entries: RECORDS } });
  expect(await frozen.ended).toMatchObject({ code: 1, workspace: { status: 'failed', error: { code: 'fenced' } } });
  expect(ledger.dump()).toBe(before);
  expectPublishedOnce(place, ledger);
});

test('nor when it wakes while the one that took over still walks, and it does not get in that one’s way', async () => {
  const place = await startPlace();
  const first = place.holdNext({ page: 2 });
  const frozen = place.sync();
  await first.reachedBy(frozen);
  await freeze(frozen.child);
  const second = place.holdNext({ page: 3 });
  const taker = place.sync({ aheadMs: LEASE_MS + 1_000 });
  await second.reachedBy(taker);

  first.release();
  frozen.child.kill('SIGCONT');

  expect(await frozen.ended).toMatchObject({ code: 1, workspace: { status: 'failed', error: { code: 'fenced' } } });
  const ledger = place.view();
  expect(ledger.value('SELECT count(*) FROM finance_history')).toBe(0n);
  second.release();
  expect(await taker.ended).toMatchObject({ code: 0, workspace: { status: 'applied', entries: RECORDS } });
  expectPublishedOnce(place, ledger);
});

test('of two processes that sync one workspace at once the second is told to wait, and leaves no run behind', async () => {
  const place = await startPlace();
  const held = place.holdNext({ page: 2 });
  const first = place.sync();
  await held.reachedBy(first);

  const second = await place.sync().ended;
  held.release();

  expect(second).toMatchObject({ code: 1, workspace: { status: 'failed', error: { code: 'lease_held' } } });
  expect(second.err).toContain(`process ${first.child.pid} on `);
  expect(await first.ended).toMatchObject({ code: 0, workspace: { status: 'applied', entries: RECORDS } });
  const ledger = place.view();
  expect(ledger.rows('SELECT status FROM finance_runs')).toEqual([{ status: 'applied' }]);
  expect(verify(place)).toEqual([]);
});

/** Stops a process as a suspended machine does, and waits until it has stopped. */
async function freeze(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP');
  await eventually(() => {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(child.pid)], { encoding: 'utf8' });
    expect(state).toMatch(/^T/);
  });
}
