import { expect, onTestFinished, test, vi } from 'vitest';
import { startRunDeadline } from '../../src/sync/run-deadline.ts';
import { rejection } from '../support/rejection.ts';
import { manualOrder, startFixture } from '../support/sandbox-fixture.ts';

/** Time passes for timers only where the test says so. */
function holdTimers(): void {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
}

test('a run that makes no progress ends before one that makes some, which ends when its time is over', () => {
  holdTimers();
  const idle = startRunDeadline(10_000, 100);
  const busy = startRunDeadline(600, 100);
  const passMs = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 10) {
      vi.advanceTimersByTime(10);
      busy.progress();
    }
  };
  passMs(90);
  expect(idle.signal.aborted).toBe(false);
  passMs(10);
  expect(idle.signal.aborted).toBe(true);
  passMs(490);
  expect(busy.signal.aborted).toBe(false);
  passMs(10);
  expect(busy.signal.aborted).toBe(true);
  expect(idle.signal.reason).toMatchObject({
    code: 'run_timeout',
    retryable: true,
    message: expect.stringContaining('no page arrived'),
  });
  expect(busy.signal.reason).toMatchObject({ code: 'run_timeout', message: expect.stringContaining('took longer') });
});

test('a deadline that is stopped never strikes', () => {
  holdTimers();
  const deadline = startRunDeadline(20, 10);
  deadline.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(1000);
  expect(deadline.signal.aborted).toBe(false);
});

test('a service that never answers ends the run as failed, with a fault that somebody hears of', async () => {
  const fixture = await startFixture({ settings: { runMinutes: 0.01 } });
  fixture.sandbox.faults.push({ times: Number.POSITIVE_INFINITY, action: { type: 'delay', delayMs: 60_000 } });
  expect(await rejection(fixture.context.sync(manualOrder()))).toMatchObject({ code: 'run_timeout', retryable: true });
  expect(fixture.view().rows('SELECT status, error_code FROM finance_runs')).toEqual([
    { status: 'failed', error_code: 'run_timeout' },
  ]);
  fixture.sandbox.faults.clear();
  // Told when it is there in a second run, as every fault that may pass by itself.
  expect(fixture.view().rows('SELECT rule, state FROM alerts')).toEqual([{ rule: 'sync_failed', state: 'pending' }]);
});
