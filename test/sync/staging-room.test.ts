import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startRunDeadline } from '../../src/sync/run-deadline.ts';
import { StagingMemory } from '../../src/sync/staging-room.ts';
import { walkPages } from '../../src/sync/walk.ts';
import { rejection } from '../support/rejection.ts';
import { createVirtualClock } from '../support/time/virtual-clock.ts';

const SIGNAL = new AbortController().signal;
const LONG = 60_000;
/** Room for two such listings. */
const ROOM_BYTES = 2 * LONG * 24;

/** Whether the wait is over after everything that could end it has had its turn. */
async function isOver(waiting: Promise<void> | undefined): Promise<boolean> {
  let over = waiting === undefined;
  void waiting?.then(() => {
    over = true;
  });
  await turn();
  return over;
}

test('short listings ask for no room, long ones wait in their order until what they announced fits', async () => {
  const room = new StagingMemory(ROOM_BYTES);
  expect(room.lease().take(49_999, 1_000_000, SIGNAL)).toBeUndefined();
  const [first, second, third, fourth] = [room.lease(), room.lease(), room.lease(), room.lease()];
  expect(await isOver(first.take(LONG, LONG, SIGNAL))).toBe(true);
  expect(first.take(LONG, LONG, SIGNAL)).toBeUndefined();
  // More than there is: it has to be alone.
  const huge = second.take(LONG, 100 * LONG, SIGNAL);
  const small = third.take(LONG, LONG, SIGNAL);
  expect(await isOver(huge)).toBe(false);
  expect(await isOver(small)).toBe(false);
  first.release();
  first.release();
  expect(await isOver(huge)).toBe(true);
  expect(await isOver(small)).toBe(false);
  second.release();
  expect(await isOver(small)).toBe(true);
  expect(await isOver(fourth.take(LONG, LONG, SIGNAL))).toBe(true);
});

test('one that is cancelled while it waits holds up nobody', async () => {
  const room = new StagingMemory(ROOM_BYTES);
  const [first, huge, small] = [room.lease(), room.lease(), room.lease()];
  await first.take(LONG, LONG, SIGNAL);
  const stop = new AbortController();
  const cancelled = huge.take(LONG, 100 * LONG, stop.signal);
  const waiting = small.take(LONG, LONG, SIGNAL);
  expect(await isOver(waiting)).toBe(false);
  stop.abort(new Error('stopped'));
  expect((await rejection(cancelled as Promise<void>)).message).toBe('stopped');
  expect(await isOver(waiting)).toBe(true);
});

test('a walk fetches nothing while it waits for room, and each page once afterwards', async () => {
  const room = new StagingMemory(ROOM_BYTES);
  const before = room.lease();
  await before.take(LONG, 2 * LONG, SIGNAL);
  const lease = room.lease();
  const fetched: number[] = [];
  const walk = walkPages(
    {
      fetchPage: async (page) => {
        fetched.push(page);
        await turn();
        return { body: [] };
      },
      stagePage: async () => ({
        records: 10_000,
        newKeys: 10_000,
        totalPages: 12,
        totalRecords: 120_000,
        unchanged: false,
      }),
    },
    {
      ...{ concurrency: 4, pace: () => Promise.resolve(), signal: SIGNAL, onPage: () => undefined },
      limits: { maxRecords: 1_000_000, maxPages: 100 },
      room: lease.take,
    },
  );
  for (let turns = 0; turns < 50; turns += 1) await turn();
  const stoppedAt = fetched.length;
  expect(stoppedAt).toBeLessThan(12);
  before.release();
  await walk;
  expect(fetched.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
});

test('time that a run waits for room does not count', async () => {
  const clock = createVirtualClock(0);
  const deadline = startRunDeadline(50, { idleMs: 40, clock });
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = deadline.hold(promise);
  await clock.advance(120);
  expect(deadline.signal.aborted).toBe(false);
  resolve();
  await held;
  await clock.advance(39);
  expect(deadline.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(deadline.signal.aborted).toBe(true);
});
