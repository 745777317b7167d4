import { expect, test } from 'vitest';
import { isoTime } from '../../src/core/clock.ts';
import { createSyncHandler } from '../../src/daemon/job-handlers.ts';
import { isStale, syncFactsReader } from '../../src/daemon/state/staleness.ts';
import { startFixture, WORKSPACE } from '../support/sandbox-fixture.ts';

const HOUR_MS = 3_600_000;

test('a job of an exported workspace ends without a run, and nobody is told that none comes, until it is kept', async () => {
  const { context, clock, sync, view } = await startFixture({
    thread: true,
    workspaces: [{ generate: { seed: 3, tenants: 5, months: 2 } }],
  });
  await sync();
  const writer = await context.writer();
  await writer.call('sealWorkspace', { workspaceId: WORKSPACE, by: 'Ada', nowMs: clock.now() });
  clock.advance(10 * 24 * HOUR_MS);
  const postponed: [key: string, delayMs: number][] = [];
  const handle = createSyncHandler(context, {
    onBegin: () => undefined,
    notified: () => undefined,
    postpone: (key, delayMs) => void postponed.push([key, delayMs]),
  });
  const job = { workspaceId: WORKSPACE, kind: 'scheduled', slot: isoTime(clock.now()), attempt: 1 } as const;
  const take = () => handle(job, { signal: new AbortController().signal, progress: () => undefined });
  const stale = () => {
    const facts = syncFactsReader(context.reader().connection)(WORKSPACE);
    const lasting = { waitingSinceMs: null, upMs: Number.POSITIVE_INFINITY };
    return isStale(facts, lasting, { staleAfterMs: HOUR_MS, runMs: HOUR_MS }, clock.now());
  };
  expect(await take()).toEqual({ status: 'moved' });
  expect(postponed).toEqual([['ws-1 scheduled', HOUR_MS]]);
  expect(stale()).toBe(false);
  expect(view().rows('SELECT status FROM finance_runs')).toHaveLength(1);

  await writer.call('keepWorkspace', { workspaceId: WORKSPACE, by: 'Ada', nowMs: clock.now(), from: null });
  expect(stale()).toBe(true);
  expect(await take()).toMatchObject({ status: 'applied' });
  expect(view().rows('SELECT status FROM finance_runs')).toHaveLength(2);
});
