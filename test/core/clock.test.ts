import { expect, test } from 'vitest';
import { every, pauseEvery, sleep, systemClock } from '../../src/core/clock.ts';
import { createVirtualClock } from '../support/time/virtual-clock.ts';

test("a wait longer than Node's timer limit does not end immediately", async () => {
  let called = false;
  const cancel = systemClock.after(2 ** 31 + 1_000, () => (called = true), { background: true });
  await sleep(systemClock, 20);
  expect(called).toBe(false);
  cancel();
});

test('a sleep ends after its time, or earlier when its signal aborts', async () => {
  const clock = createVirtualClock(0);
  const woken: string[] = [];
  void sleep(clock, 1_000).then(() => woken.push('slept'));
  const stop = new AbortController();
  void sleep(clock, 2_000, stop.signal).catch((reason: Error) => woken.push(reason.message));
  await clock.advance(999);
  expect(woken).toEqual([]);
  await clock.advance(1);
  expect(woken).toEqual(['slept']);
  stop.abort(new Error('stopped'));
  await clock.advance(5_000);
  expect(woken).toEqual(['slept', 'stopped']);
});

test('an interval calls back until it is cancelled, also from inside its own callback', async () => {
  const clock = createVirtualClock(0);
  const at: number[] = [];
  const end = every(clock, 100, () => {
    at.push(clock.monotonic());
    if (at.length === 3) end();
  });
  await clock.advance(1_000);
  expect(at).toEqual([100, 200, 300]);
  expect(clock.waiting).toBe(0);
});

test('a long loop lets other work run whenever its time is up, and not between', async () => {
  let nowMs = 0;
  const pause = pauseEvery(5, { monotonic: () => nowMs });
  const turns: number[] = [];
  for (const stepMs of [4, 4, 4, 0]) {
    let hasTurned = false;
    setImmediate(() => (hasTurned = true));
    nowMs += stepMs;
    await pause();
    if (hasTurned) turns.push(nowMs);
    // What waits for a turn of this step must not count for the next one.
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(turns).toEqual([8]);
});
