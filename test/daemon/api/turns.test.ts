import { expect, it } from 'vitest';
import { Turns, takeRowsInTurns } from '../../../src/daemon/api/turns.ts';

it('the event loop turns whenever rows have taken more than ten milliseconds, and never for quick ones', async () => {
  let nowMs = 0;
  let isReading = true;
  const taken: number[] = [];
  const seen: number[] = [];
  const others = (async () => {
    while (isReading) {
      seen.push(taken.length);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  const rowsOf = function* (count: number, rowMs: number): Generator<number> {
    for (let row = 1; row <= count; row += 1) {
      nowMs += rowMs;
      taken.push(row);
      yield row;
    }
  };
  const clock = { monotonic: () => nowMs };
  expect(await takeRowsInTurns(rowsOf(7, 4), 6, new Turns(clock))).toEqual([1, 2, 3, 4, 5, 6]);
  expect(seen).toEqual(expect.arrayContaining([3]));
  const turned = seen.length;
  expect(await takeRowsInTurns(rowsOf(100, 0), 100, new Turns(clock))).toHaveLength(100);
  expect(seen).toHaveLength(turned);
  isReading = false;
  await others;
});
