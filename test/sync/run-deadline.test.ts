import { expect, test } from 'vitest';
import { startRunDeadline } from '../../src/sync/run-deadline.ts';
import { rejection } from '../support/rejection.ts';
import { manualOrder, startFixture } from '../support/sandbox-fixture.ts';
import { createVirtualClock } from '../support/time/virtual-clock.ts';

test('a run that makes no progress ends before one that makes some, which ends when its time is over', async () => {
  const clock = createVirtualClock(0);
  const idle = startRunDeadline(10_000, { idleMs: 100, clock });
  const busy = startRunDeadline(600, { idleMs: 100, clock });
  const passMs = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 10) {
      await clock.advance(10);
      busy.progress();
    }
  };
  await passMs(90);
  expect(idle.signal.aborted).toBe(false);
  await passMs(10);
  expect(idle.signal.aborted).toBe(true);
  await passMs(490);
  expect(busy.signal.aborted).toBe(false);
  await passMs(10);
  expect(busy.signal.aborted).toBe(true);
  expect(idle.signal.reason).toMatchObject({
    code: 'run_timeout',
    retryable: true,
    message: expect.stringContaining('no page arrived'),
  });
  expect(busy.signal.reason).toMatchObject({ code: 'run_timeout', message: expect.stringContaining('took longer') });
});

test('a deadline that is stopped never strikes', async () => {
  const clock = createVirtualClock(0);
  const deadline = startRunDeadline(20, { idleMs: 10, clock });
  deadline.stop();
  expect(clock.waiting).toBe(0);
  await clock.advance(1000);
  expect(deadline.signal.aborted).toBe(false);
});

test('a service that never answers ends the run as failed, with a fault that somebody hears of', async () => {
  const fixture = await startFixture({ thread: true, settings: { runMinutes: 0.01 } });
  fixture.sandbox.faults.push({ times: Number.POSITIVE_INFINITY, action: { type: 'delay', delayMs: 60_000 } });
  expect(await rejection(fixture.context.sync(manualOrder()))).toMatchObject({ code: 'run_timeout', retryable: true });
  expect(fixture.view().rows('SELECT status, error_code FROM finance_runs')).toEqual([
    { status: 'failed', error_code: 'run_timeout' },
  ]);
  fixture.sandbox.faults.clear();
  // Told when it is there in a second run, as every fault that may pass by itself.
  expect(fixture.view().rows('SELECT rule, state FROM alerts')).toEqual([{ rule: 'sync_failed', state: 'pending' }]);
});
