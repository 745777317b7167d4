import { existsSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { privateRedisFolder } from '../../src/daemon/open-queue.ts';
import type { SyncHandler, SyncJob } from '../../src/queue/jobs.ts';
import type { SyncQueue } from '../../src/queue/sync-queue.ts';
import { eventually } from '../support/eventually.ts';
import { startFixture } from '../support/sandbox-fixture.ts';

const NOTHING = { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0 };

/** Carries out each job at once; ends are noted in the order in which the parts of a daemon come to them. */
function queueInMemory(ends: string[]): SyncQueue {
  let handle: SyncHandler | null = null;
  const waiting: SyncJob[] = [];
  const running: unknown[] = [];
  const run = (): void => {
    const context = { signal: new AbortController().signal, progress: () => undefined };
    while (handle !== null && waiting[0] !== undefined) {
      running.push(handle(waiting[0], context));
      waiting.shift();
    }
  };
  return {
    start(given) {
      handle = given;
      run();
    },
    async addSync({ delayMs: _, ...job }) {
      waiting.push(job);
      run();
      return 'added';
    },
    counts: async () => NOTHING,
    waitingSyncs: async () => new Map(),
    takeTurns: async (_host, wanted) => ({ granted: wanted, waitMs: 0 }),
    ping: async () => 1,
    redisUp: true,
    onRedisBack: () => () => undefined,
    queues: [],
    async stop() {
      ends.push('queue');
      await Promise.allSettled(running);
      return true;
    },
  };
}

test('a daemon can be given another queue: it reads and stops without any Redis, and shows its probe', async () => {
  const fixture = await startFixture({ workspaces: [{ generate: { seed: 3, tenants: 5, months: 1 } }] });
  const ends: string[] = [];
  const queue = queueInMemory(ends);
  const daemon = await startDaemon(fixture.context, { openQueue: async () => queue, ticks: false });
  onTestFinished(() => daemon.stop());
  await eventually(() =>
    expect(fixture.view().rows('SELECT status FROM finance_runs')).toContainEqual({ status: 'applied' }),
  );
  expect(daemon.probe.freshness()).toMatchObject([{ workspaceId: 'ws-1', stale: false }]);
  await daemon.stop();
  expect(ends[0]).toBe('queue');
  expect(existsSync(privateRedisFolder(fixture.config.ledger.path))).toBe(false);
});
