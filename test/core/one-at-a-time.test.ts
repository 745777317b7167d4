import { expect, test } from 'vitest';
import { oneAtATime } from '../../src/core/one-at-a-time.ts';
import { rejection } from '../support/rejection.ts';

/** Work that ends when the test says so; each round gives its number. */
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

test('who asks while work is under way joins it', async () => {
  const { run, ends } = playWork();
  const both = Promise.all([run(), run()]);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  expect(await both).toEqual([1, 1]);
  const next = run();
  ends[1]?.();
  expect(await next).toBe(2);
});

test('who asks for it again gets work that has begun later, one for all, also after a failure', async () => {
  const { run, again, rest, ends } = playWork();
  const first = rejection(run());
  const later = Promise.all([again(), again()]);
  expect(ends).toHaveLength(1);
  ends[0]?.(new Error('no luck'));
  expect((await first).message).toBe('no luck');
  await rest();
  await new Promise((resolve) => setImmediate(resolve));
  expect(ends).toHaveLength(2);
  ends[1]?.();
  expect(await later).toEqual([2, 2]);
  await rest();
});
