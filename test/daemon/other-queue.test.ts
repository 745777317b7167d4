import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { enqueueManualRun } from '../../src/daemon/manual-runs.ts';
import { createReload } from '../../src/daemon/reload.ts';
import type { ConfigurationStatus } from '../../src/ledger/store/file/daemon-lock.ts';
import type { SyncHandler, SyncJob } from '../../src/queue/jobs.ts';
import { isSocketListening, privateRedisFolder } from '../../src/queue/redis/target.ts';
import type { SyncQueue } from '../../src/queue/sync-queue.ts';
import { eventually } from '../support/eventually.ts';
import { startFixture } from '../support/sandbox-fixture.ts';

const NOTHING = { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0 };

/** Carries out each job at once, and at its stop the one that it is given then. */
function queueInMemory(atStop: () => SyncJob[]): SyncQueue {
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
    async addSync(job) {
      waiting.push(job);
      run();
      return 'added';
    },
    counts: async () => NOTHING,
    waitingSyncs: async () => new Map(),
    ping: async () => 1,
    redisUp: true,
    redisFault: null,
    onRedisBack: () => () => undefined,
    queues: [],
    async stop() {
      waiting.push(...atStop());
      run();
      await Promise.allSettled(running);
      return true;
    },
  };
}

test('a daemon with another queue reads and stops without Redis, and exposes its probe', async () => {
  const fixture = await startFixture({ thread: true, workspaces: [{ generate: { seed: 3, tenants: 5, months: 1 } }] });
  const queue = queueInMemory(() => []);
  const daemon = await startDaemon(fixture.context, { openQueue: async () => queue, ticks: false });
  onTestFinished(() => daemon.stop());
  await eventually(() =>
    expect(fixture.view().rows('SELECT status FROM finance_runs')).toContainEqual({ status: 'applied' }),
  );
  expect(daemon.probe.freshness()).toMatchObject([{ workspaceId: 'ws-1', stale: false }]);
  await daemon.stop();
  expect(existsSync(privateRedisFolder(fixture.config.ledger.path))).toBe(false);
});

test('a run that somebody asks for goes through the queue and is recorded as manual', async () => {
  const fixture = await startFixture({ thread: true, workspaces: [{ generate: { seed: 3, tenants: 5, months: 1 } }] });
  const queue = queueInMemory(() => []);
  const daemon = await startDaemon(fixture.context, { openQueue: async () => queue, ticks: false });
  onTestFinished(() => daemon.stop());
  const runs = (kind = 'manual') => fixture.view().rows(`SELECT slot, status FROM finance_runs WHERE kind = '${kind}'`);
  await eventually(() => expect(runs('scheduled')).toMatchObject([{ status: 'applied' }]));
  expect(await enqueueManualRun(queue)('ws-1', fixture.clock.now())).toBe('added');
  await eventually(() => expect(runs()).toEqual([{ slot: null, status: 'applied' }]));
});

test('a private Redis is stopped if opening the ledger fails', async () => {
  const fixture = await startFixture();
  const openWriter = async (): Promise<never> => {
    throw new Error('it does not open');
  };
  const context = fixture.another(undefined, { openWriter });
  await expect(startDaemon(context)).rejects.toThrow('it does not open');
  expect(existsSync(join(privateRedisFolder(context.config.ledger.path), 'appendonlydir'))).toBe(true);
  expect(await isSocketListening(join(privateRedisFolder(context.config.ledger.path), 'redis.sock'))).toBe(false);
});

test('notifications of a run that ends during the stop are sent before the deliveries end', async () => {
  const { context, clock, sandbox } = await startFixture({ thread: true });
  const seen: string[] = [];
  const compose = context.compose.bind(context);
  context.compose = () => {
    seen.push('sweep');
    return compose();
  };
  const queue = queueInMemory(() => {
    seen.push('stop');
    sandbox.faults.push({ times: 50, action: { type: 'status', status: 401 } });
    const slot = new Date(clock.now()).toISOString();
    return [{ workspaceId: 'ws-1', kind: 'reconcile', slot, attempt: 9 }];
  });
  const daemon = await startDaemon(context, { openQueue: async () => queue, ticks: false });
  await eventually(() => expect(seen).toContain('sweep'));
  await daemon.stop();
  expect(seen.slice(seen.indexOf('stop')).slice(0, 2)).toEqual(['stop', 'sweep']);
});

test('a part that fails to start in a reload is started by the next one, even without changes', async () => {
  const { context } = await startFixture({ thread: true });
  let refused = 0;
  let subscribed = 0;
  const queue = queueInMemory(() => []);
  queue.addSync = async () => 'exists';
  queue.onRedisBack = () => {
    if (refused > 0) {
      refused -= 1;
      throw new Error('not now');
    }
    subscribed += 1;
    return () => undefined;
  };
  const daemon = await startDaemon(context, { openQueue: async () => queue, ticks: false });
  onTestFinished(() => daemon.stop());
  const workspaces = context.config.workspaces.map((workspace) => ({ ...workspace, cron: '7 * * * *' }));
  const changed = { ...context.config, workspaces };
  const configuration: ConfigurationStatus = { readAt: '', refused: null, needsRestart: [], reads: 0 };
  const lock = { configuration, publishConfiguration: (notice: object) => Object.assign(configuration, notice) };
  const reload = createReload({ context, daemon, lock, load: async () => changed });

  refused = 1;
  await reload.run();
  expect(configuration).toMatchObject({ refused: { faults: [{ message: 'not now' }] } });
  expect(subscribed).toBe(1);
  await reload.run();
  expect(configuration).toMatchObject({ refused: null });
  expect(subscribed).toBe(2);
});
