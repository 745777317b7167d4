import { beforeAll, expect, test } from 'vitest';
import { drawPlan, SHORT } from './play/plan.ts';
import { play, warmUp } from './play/play.ts';

beforeAll(warmUp);

test('the same seed gives the same world twice, to the last digest and message', async () => {
  const plan = drawPlan(77, SHORT);
  const first = await play(plan);
  const second = await play(plan);

  expect(first.broken).toBeNull();
  expect(first.trace.length).toBeGreaterThan(100);
  expect(second.trace).toEqual(first.trace);
  expect(second.digest).toBe(first.digest);
});
