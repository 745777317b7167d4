import { type Clock, systemClock } from '../../../src/core/clock.ts';
import { periodAt, periodEndMs } from '../../../src/core/period.ts';
import { eventually } from '../eventually.ts';

/** 20 March 2026, 12:00 UTC: the month is open and the one before it has settled. */
export const NOON = Date.UTC(2026, 2, 20, 12);

/** A wall clock that stands still until it is told otherwise. */
export interface TestClock extends Clock {
  /** Sets the wall clock alone. */
  set(epochMs: number): void;
  /** Lets time pass. */
  advance(ms: number): void;
}

export function testClock(startMs = NOON): TestClock {
  let nowMs = startMs;
  let passedMs = 0;
  return {
    ...clockThat(() => nowMs),
    monotonic: () => systemClock.monotonic() + passedMs,
    set(epochMs) {
      nowMs = epochMs;
    },
    advance(ms) {
      nowMs += ms;
      passedMs += ms;
    },
  };
}

/** The system's timers under a wall clock of the test's own. */
export function clockThat(now: () => number): Clock {
  return { ...systemClock, now };
}

/**
 * Counts the milliseconds of processor time that this process takes from now on. What a computation takes is told by them
 * on a machine with other work, too, where the time of day tells of that work.
 */
export function startCpuTime(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
}

/** Longer than the tests of a file take. */
const MONTH_END_MS = 5 * 60_000;

/**
 * Waits, where a month is about to end, until the next one has begun. For tests that have to live in the month of the
 * machine's clock, which SQLite, Postgres and daemons ask by themselves.
 */
export async function awayFromMonthEnd(): Promise<void> {
  const end = periodEndMs(periodAt(Date.now()));
  if (end - Date.now() > MONTH_END_MS) return;
  await eventually(() => {
    if (Date.now() <= end) throw new Error('the month has not ended');
  }, 2 * MONTH_END_MS);
}
