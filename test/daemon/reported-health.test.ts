import { expect, test } from 'vitest';
import { ReportedHealth, type ReportedHealthOptions } from '../../src/daemon/reported-health.ts';
import { testClock } from '../support/time/test-clock.ts';

function play(options: Partial<ReportedHealthOptions> = {}) {
  const clock = testClock();
  const reported: (string | null)[] = [];
  const health = new ReportedHealth({
    clock,
    compareBy: 'detail',
    repeatMs: null,
    report: async (detail) => reported.push(detail) > 0,
    ...options,
  });
  return { clock, health, reported };
}

test('each change is reported once, the first health in any case', async () => {
  const { health, reported } = play();
  expect(health.isFailing).toBe(null);
  for (const detail of [null, null, 'a', 'a', 'b', null, null]) await health.report(detail);
  expect(reported).toEqual([null, 'a', 'b', null]);
});

test('a job that compares states reports another description of the same failure only after the repeat interval', async () => {
  const { clock, health, reported } = play({ compareBy: 'state', repeatMs: 60_000 });
  await health.report('a');
  await health.report('b');
  clock.advance(60_000);
  await health.report('c');
  expect(reported).toEqual(['a', 'c']);
});

test('a health that could not be recorded is reported again', async () => {
  const answers = [false, true];
  const reported: (string | null)[] = [];
  const { health } = play({
    report: async (detail) => {
      reported.push(detail);
      return answers.shift() ?? true;
    },
  });
  expect(await health.report('a')).toBe(false);
  expect(health.isFailing).toBe(null);
  expect(await health.report('a')).toBe(true);
  expect(await health.report('a')).toBe(true);
  expect(reported).toEqual(['a', 'a']);
});
