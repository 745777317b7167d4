import { expect, test } from 'vitest';
import { oneAtATime } from '../../src/core/one-at-a-time.ts';
import { rejection } from '../support/rejection.ts';

/** Starts work that ends when the test calls `ends`. Each run resolves to its number. */
function playWork() {
  const ends: ((error?: Error) => void)[] = [];
  const once = oneAtATime(
    () =>
      new Promise<number>((resolve, reject) => {
        const round = ends.length + 1;
        ends.push((error) => (error === undefined ? resolve(round) : reject(error)));
      }),
  );
  return { ...once, ends };
}

test('a call during a run joins that run', async () => {
  const { run, ends } = playWork();
  const both = Promise.all([run(), run()]);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  expect(await both).toEqual([1, 1]);
  const next = run();
  ends[1]?.();
  expect(await next).toBe(2);
});

test('rerun starts one later run for all its callers, also after a failure', async () => {
  const { run, rerun, waitUntilIdle, ends } = playWork();
  const first = rejection(run());
  const later = Promise.all([rerun(), rerun()]);
  expect(ends).toHaveLength(1);
  ends[0]?.(new Error('no luck'));
  expect((await first).message).toBe('no luck');
  await waitUntilIdle();
  await new Promise((resolve) => setImmediate(resolve));
  expect(ends).toHaveLength(2);
  ends[1]?.();
  expect(await later).toEqual([2, 2]);
  await waitUntilIdle();
});
