import { expect, test } from 'vitest';
import { backoffMs, jitteredBackoffMs } from '../../src/core/backoff.ts';

const backoff = { baseMs: 100, maxMs: 700 };

test('a wait doubles with each failure up to its limit', () => {
  expect([0, 1, 2, 3, 2000].map((failures) => backoffMs(failures, backoff))).toEqual([100, 200, 400, 700, 700]);
});

test('the upper half of a jittered wait is random', () => {
  expect([0, 0.5, 1].map((random) => jitteredBackoffMs(2, backoff, random))).toEqual([200, 300, 400]);
});
