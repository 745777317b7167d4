import { expect, test } from 'vitest';
import { hasTimedOut, startPeriodicTask } from '../../src/core/periodic-task.ts';
import { recordingLogger } from '../queue/support.ts';
import { createVirtualClock } from '../support/time/virtual-clock.ts';

/** Starts work that takes two seconds and runs every second. */
function play({ atOnce = false, fails = () => false }: { atOnce?: boolean; fails?: () => boolean } = {}) {
  const clock = createVirtualClock(0);
  const { logger, lines } = recordingLogger();
  const begun: number[] = [];
  const ended: string[] = [];
  const task = startPeriodicTask({
    ...{ clock, logger, intervalMs: 1_000, atOnce, failed: 'it could not be done' },
    async work(stopping) {
      begun.push(clock.monotonic());
      await new Promise<void>((resolve) => clock.after(2_000, resolve));
      if (fails()) throw new Error('no luck');
      ended.push(stopping.aborted ? 'stopped' : 'done');
    },
  });
  return { task, clock, lines, begun, ended };
}

test('work that takes longer than its interval never overlaps itself', async () => {
  const { clock, begun, ended } = play();
  await clock.advance(7_500);
  expect(begun).toEqual([1_000, 3_000, 5_000, 7_000]);
  expect(ended).toHaveLength(3);
});

test('it can start without waiting for the first interval', async () => {
  const { clock, begun } = play({ atOnce: true });
  await clock.advance(500);
  expect(begun).toEqual([0]);
});

test('a failure is logged with its reason, and the work runs again at the next interval', async () => {
  const { clock, begun, lines } = play({ fails: () => true });
  await clock.advance(5_500);
  expect(begun).toHaveLength(3);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', msg: 'it could not be done', reason: 'no luck' },
    { level: 'warn', msg: 'it could not be done', reason: 'no luck' },
  ]);
});

test('stop aborts and awaits the current run, and no run starts after it', async () => {
  const { task, clock, begun, ended } = play();
  await clock.advance(1_500);
  let stopped = false;
  const stop = task.stop().then(() => {
    stopped = true;
  });
  await clock.advance(1_000);
  expect(stopped).toBe(false);
  await clock.advance(1_000);
  await stop;
  expect(ended).toEqual(['stopped']);
  await Promise.all([task.run(), task.rerun(), task.stop()]);
  await clock.advance(10_000);
  expect(begun).toHaveLength(1);
  expect(clock.waiting).toBe(0);
});

test('a run is aborted at its deadline, and a stop does not wait for one that ignores that', async () => {
  const { logger, lines } = recordingLogger();
  const timedOut = Promise.withResolvers<boolean>();
  const task = startPeriodicTask({
    clock: createVirtualClock(0),
    logger,
    intervalMs: 1_000,
    atOnce: true,
    deadlineMs: 20,
    failed: 'it could not be done',
    work: (signal) => {
      signal.addEventListener('abort', () => timedOut.resolve(hasTimedOut(signal)));
      return new Promise(() => undefined);
    },
  });
  expect(await timedOut.promise).toBe(true);
  await task.stop();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', msg: 'it could not be done', reason: 'the task did not end within 2 s after it was stopped' },
  ]);
});

test('a run that ends at its deadline is logged with the deadline, and a stop is no deadline', async () => {
  const { logger, lines } = recordingLogger();
  const aborts: boolean[] = [];
  const start = (deadlineMs: number) =>
    startPeriodicTask({
      clock: createVirtualClock(0),
      logger,
      intervalMs: 1_000,
      deadlineMs,
      failed: 'it could not be done',
      work: (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            aborts.push(hasTimedOut(signal));
            reject(signal.reason);
          });
        }),
    });
  await start(20).run();
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    code: 'task_timed_out',
    reason: 'the task did not finish within 0 s',
  });
  const stopped = start(60_000);
  void stopped.run();
  await stopped.stop();
  expect(aborts).toEqual([true, false]);
});
