import { getTasks } from 'node-cron';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import {
  type ScheduleEntry,
  type Scheduler,
  type SchedulerOptions,
  startScheduler,
} from '../../src/queue/scheduler.ts';
import type { SlotHistory } from '../../src/queue/slots.ts';
import { startCpuTime, testClock } from '../support/time/test-clock.ts';
import { createVirtualClock } from '../support/time/virtual-clock.ts';
import { recordingLogger, until } from './support.ts';

let scheduler: Scheduler | undefined;
afterEach(async () => {
  await scheduler?.stop();
});

/** What is known of an entry whose latest done slot is this, with some of it changed. */
const done = (doneSlot: string | null, change: Partial<SlotHistory> = {}): SlotHistory => ({
  ...{ doneSlot, failures: 0, failedSlot: null, failedAtMs: null, refused: false },
  ...change,
});

const NOW = Date.parse('2026-03-01T10:20:00.000Z');

function start(options: Partial<SchedulerOptions<ScheduleEntry>> & Pick<SchedulerOptions<ScheduleEntry>, 'entries'>) {
  const made = startScheduler<ScheduleEntry>({
    enqueue: async () => undefined,
    history: () => done(null),
    onRedisBack: () => () => undefined,
    clock: testClock(NOW),
    logger: recordingLogger().logger,
    ...options,
  });
  scheduler = made;
  return made;
}

describe('the check for due slots', () => {
  test('yields to the event loop between entries, however long each one takes', async () => {
    const entries = Array.from({ length: 40 }, (_, index) => ({
      key: `ws-${index}`,
      cron: '*/15 * * * *',
      timezone: 'UTC',
    }));
    let looked = 0;
    const made = start({
      entries,
      intervalMs: 60_000,
      history: () => {
        looked += 1;
        const end = performance.now() + 5;
        while (performance.now() < end);
        return done('2026-03-01T10:15:00.000Z');
      },
    });
    const seen = new Set<number>();
    const look = setInterval(() => seen.add(looked), 1);
    await made.catchUp();
    clearInterval(look);
    expect(looked).toBe(entries.length);
    // 200 ms of work, of which nobody waits for more than a few entries.
    expect(seen.size).toBeGreaterThan(5);
  });
});

describe('a clock that jumps', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('by half a year has its latest slot enqueued at once, for any cron', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-01-31T23:59:58.500Z') });
    const slots: string[] = [];
    start({
      entries: [{ key: 'every minute', cron: '* * * * *', timezone: 'UTC' }],
      clock: systemClock,
      intervalMs: 3_600_000,
      history: () => done(slots.at(-1) ?? null),
      enqueue: async (_entry, { slot }) => {
        slots.push(slot);
      },
    });
    await until('the first look', () => slots.length > 0);
    vi.setSystemTime(Date.parse('2026-07-31T12:00:30.000Z'));
    const jumped = performance.now();
    const spent = startCpuTime();
    await until('the slot of now', () => slots.at(-1) === '2026-07-31T12:00:00.000Z');
    // Its timer of before would have gone off after 1.5 s, and gone through 260,000 ticks.
    await until('the tick of before has passed', () => performance.now() - jumped > 2_500);
    expect(spent()).toBeLessThan(4_000);
    expect(slots).toEqual(['2026-01-31T23:59:00.000Z', '2026-07-31T12:00:00.000Z']);
    expect(getTasks().size).toBe(1);
  });
});

describe('ticks', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('report exactly the scheduled minutes of the cron, in order', async () => {
    vi.useFakeTimers({
      toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'],
      now: NOW + 400,
    });
    const slots: string[] = [];
    start({
      entries: [{ key: 'every second minute', cron: '*/2 * * * *', timezone: 'UTC' }],
      clock: systemClock,
      intervalMs: 3_600_000,
      history: () => done(slots.at(-1) ?? null),
      enqueue: async (_entry, { slot }) => {
        slots.push(slot);
      },
    });
    await vi.advanceTimersByTimeAsync(7 * 60_000);
    // The first is caught up at the start.
    expect(slots).toEqual([0, 2, 4, 6].map((minute) => new Date(NOW + minute * 60_000).toISOString()));
  });

  test('end with stop, which waits for pending enqueues', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    let ended = false;
    const made = start({
      entries: [{ key: 'a', cron: '* * * * *', timezone: 'UTC' }],
      enqueue: async () => {
        await opened;
        ended = true;
      },
    });
    expect(getTasks().size).toBe(1);
    let returned = false;
    const stopped = made.stop().then(() => {
      returned = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect([returned, ended, getTasks().size]).toEqual([false, false, 0]);
    open();
    await stopped;
    expect(ended).toBe(true);
    await made.stop();
  });
});

describe('catching up', () => {
  const entries: ScheduleEntry[] = [
    { key: 'behind', cron: '*/15 * * * *', timezone: 'UTC' },
    { key: 'current', cron: '*/15 * * * *', timezone: 'UTC' },
    { key: 'new', cron: '17 3 * * 0', timezone: 'UTC' },
  ];
  const known: Record<string, string | null> = {
    behind: '2026-02-20T00:00:00.000Z',
    current: '2026-03-01T10:15:00.000Z',
    new: null,
  };
  const history = (entry: ScheduleEntry): SlotHistory => done(known[entry.key] ?? null);

  test('enqueues the latest slot once for each late or new entry, at the start', async () => {
    const slots: string[] = [];
    start({
      entries,
      history,
      enqueue: async ({ key }, { slot }) => {
        slots.push(`${key} ${slot}`);
      },
    });
    await until('the slots', () => slots.length === 2);
    expect(slots).toEqual(['behind 2026-03-01T10:15:00.000Z', 'new 2026-03-01T03:17:00.000Z']);
  });

  test('happens again when Redis is back, for slots that could not be enqueued', async () => {
    const { logger, lines } = recordingLogger();
    let away = true;
    let back: () => void = () => undefined;
    const slots: string[] = [];
    start({
      entries,
      history,
      logger,
      onRedisBack: (listener) => {
        back = listener;
        return () => undefined;
      },
      enqueue: async ({ key }) => {
        if (away) throw new AppError('redis_unavailable', 'away', { retryable: true });
        slots.push(key);
      },
    });
    await until('the failure to be logged', () => lines.some((line) => line.includes('slot not enqueued')));
    away = false;
    back();
    await until('the slots', () => slots.length === 2);
    expect(slots).toEqual(['behind', 'new']);
    expect(lines.filter((line) => line.includes('slot not enqueued'))).toHaveLength(1);
  });

  test('continues with the other entries if one cannot be read or enqueued', async () => {
    const slots: string[] = [];
    start({
      entries,
      history: (entry) => {
        if (entry.key === 'behind') throw new Error('the ledger is busy');
        return done(null);
      },
      enqueue: async ({ key }) => {
        if (key === 'current') throw new AppError('bad_slot', 'no', { retryable: false });
        slots.push(key);
      },
    });
    await until('the slot', () => slots.length === 1);
    expect(slots).toEqual(['new']);
  });
});

describe('a failed slot', () => {
  const FAILED: Partial<SlotHistory> = { failures: 1, failedSlot: '2026-03-01T10:15:00.000Z' };

  test('is retried automatically after its pause, as the next attempt', async () => {
    const clock = testClock(NOW);
    const attempts: number[] = [];
    start({
      entries: [{ key: 'ws', cron: '*/15 * * * *', timezone: 'UTC' }],
      intervalMs: 10,
      clock,
      history: () => done(null, { ...FAILED, failedAtMs: NOW - 14_999 }),
      enqueue: async (_entry, { attempt }) => {
        attempts.push(attempt);
      },
    });
    await scheduler?.catchUp();
    expect(attempts).toEqual([]);
    clock.advance(1);
    await until('the second attempt', () => attempts.length > 0);
    expect(attempts[0]).toBe(2);
  });

  test('is not retried while it is postponed, and no longer than that if the clock is set back meanwhile', async () => {
    const clock = testClock(NOW);
    const slots: string[] = [];
    const made = start({
      entries: [{ key: 'ws', cron: '*/15 * * * *', timezone: 'UTC' }],
      clock,
      enqueue: async (_entry, { slot }) => {
        slots.push(slot);
      },
    });
    await made.catchUp();
    made.postpone('ws', 60_000);
    clock.set(NOW - 9 * 3_600_000);
    clock.advance(59_000);
    await made.catchUp();
    expect(slots).toHaveLength(1);
    clock.advance(1_000);
    await made.catchUp();
    expect(slots).toHaveLength(2);
  });
});

test('entries with one cron start one after the other, each with the same delay after every tick', async () => {
  const entries = Array.from({ length: 100 }, (_, index) => ({
    key: `ws-${index}`,
    cron: '* * * * *',
    timezone: 'UTC',
  }));
  const delays = new Map<string, number[]>();
  const clock = createVirtualClock(NOW);
  const enqueued = new Set<string>();
  start({
    ...{ entries, clock, ticks: false },
    enqueue: async ({ key }, { slot }) => {
      // Catching up asks for it again until it is done.
      if (enqueued.has(`${key} ${slot}`)) return;
      enqueued.add(`${key} ${slot}`);
      delays.set(key, [...(delays.get(key) ?? []), clock.now() - Date.parse(slot)]);
    },
  });
  await clock.advance(3 * 60_000 - 1);
  const first = [...delays.values()].map(([delayMs = 0]) => delayMs);
  expect([first.length, first.every((delayMs) => delayMs >= 0)]).toEqual([100, true]);
  expect([...delays.values()].every(([a, b, c]) => a === b && b === c)).toBe(true);
  expect(Math.max(...first)).toBeLessThan(30_000);
  // Of 100 that are spread over 30 s no five seconds get more than twice their share.
  for (let from = 0; from < 30_000; from += 5_000) {
    expect(first.filter((delayMs) => delayMs >= from && delayMs < from + 5_000).length).toBeLessThan(34);
  }
});
