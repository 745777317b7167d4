import { expect, test } from 'vitest';
import type { Clock } from '../../../src/core/clock.ts';
import { startDaemon } from '../../../src/daemon/daemon.ts';
import type { SyncQueue } from '../../../src/queue/sync-queue.ts';
import { startFixture } from '../../support/sandbox-fixture.ts';

/** What tells the daemon's parts from each other: how often each does its work, in seconds. */
const LOOKS_AT_WHAT_IS_DUE = 10;
const WAL_WATCH = 15;
const DELIVERIES = 30;
const RETENTION = 3_600;
const JUMP_WATCH = 1;
const STALE_AND_CLOCK_WATCH = 60;

test('a stop first ends the intake of work, then the queue, and last the upkeep of the ledger', async () => {
  const fixture = await startFixture({ thread: true });
  const armed = new Map<number, number>();
  const clock: Clock = {
    ...fixture.clock,
    after(delayMs, call, options) {
      const seconds = delayMs / 1000;
      const count = (by: number): void => void armed.set(seconds, (armed.get(seconds) ?? 0) + by);
      let counted = true;
      const disarm = (): void => {
        if (counted) count(-1);
        counted = false;
      };
      count(1);
      const cancel = fixture.clock.after(
        delayMs,
        () => {
          disarm();
          call();
        },
        options,
      );
      return () => {
        disarm();
        cancel();
      };
    },
  };
  const parts = [LOOKS_AT_WHAT_IS_DUE, WAL_WATCH, DELIVERIES, RETENTION, JUMP_WATCH, STALE_AND_CLOCK_WATCH];
  const running = (): number[] => parts.filter((seconds) => (armed.get(seconds) ?? 0) > 0);
  const seen: Record<string, number[]> = {};
  const queue: SyncQueue = {
    start: () => undefined,
    addSync: async () => 'added',
    counts: async () => ({ waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0 }),
    waitingSyncs: async () => new Map(),
    ping: async () => 1,
    redisUp: true,
    redisFault: null,
    onRedisBack: () => () => undefined,
    queues: [],
    async stop() {
      seen.whileTheQueueStops ??= running();
      return true;
    },
  };
  const context = fixture.another(undefined, { clock });
  const daemon = await startDaemon(context, { openQueue: async () => queue, ticks: false });
  seen.before = running();

  await daemon.stop();

  expect(seen.before).toEqual(parts);
  expect(seen.whileTheQueueStops).toEqual([WAL_WATCH, DELIVERIES, RETENTION]);
  expect(running()).toEqual([]);
});
