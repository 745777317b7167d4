import { getTasks } from 'node-cron';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import { startPrivateRedis } from '../../src/queue/private-redis.ts';
import { openQueueSystem } from '../../src/queue/queues.ts';
import {
  type ScheduleEntry,
  type Scheduler,
  type SchedulerOptions,
  startScheduler,
} from '../../src/queue/scheduler.ts';
import {
  clientOf,
  gate,
  handlersWith,
  recordingLogger,
  removeFolder,
  temporaryFolder,
  uniqueLedgerId,
  until,
} from './support.ts';

let scheduler: Scheduler | undefined;
afterEach(async () => {
  await scheduler?.stop();
});

const NOW = Date.parse('2026-03-01T10:20:00.000Z');

function start(options: Partial<SchedulerOptions<ScheduleEntry>> & Pick<SchedulerOptions<ScheduleEntry>, 'entries'>) {
  const made = startScheduler<ScheduleEntry>({
    enqueue: async () => undefined,
    lastSlot: () => null,
    onRedisBack: () => () => undefined,
    clock: { now: () => NOW },
    logger: recordingLogger().logger,
    ...options,
  });
  scheduler = made;
  return made;
}

describe('ticks', () => {
  test('name the scheduled second exactly, one after the other', async () => {
    const slots: string[] = [];
    start({
      entries: [{ key: 'every second', cron: '* * * * * *' }],
      clock: systemClock,
      lastSlot: () => new Date(Date.now() + 60_000).toISOString(),
      enqueue: async (_entry, slot) => {
        slots.push(slot);
      },
    });
    await until('three ticks', () => slots.length >= 3);
    const [first = 0, second = 0, third = 0] = slots.map((slot) => Date.parse(slot));
    for (const slot of slots) expect(slot).toMatch(/:\d\d\.000Z$/);
    expect([second - first, third - second]).toEqual([1000, 1000]);
    expect(Math.abs(Date.now() - third)).toBeLessThan(1000);
  });

  test('end with stop, which waits for what is being enqueued', async () => {
    const { opened, open } = gate();
    let ended = false;
    const made = start({
      entries: [{ key: 'a', cron: '* * * * * *' }],
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
    { key: 'behind', cron: '*/15 * * * *' },
    { key: 'current', cron: '*/15 * * * *' },
    { key: 'new', cron: '17 3 * * 0' },
  ];
  const known: Record<string, string | null> = {
    behind: '2026-02-20T00:00:00.000Z',
    current: '2026-03-01T10:15:00.000Z',
    new: null,
  };
  const lastSlot = (entry: ScheduleEntry): string | null => known[entry.key] ?? null;

  test('enqueues the latest slot once for each entry that is behind or new, at the start', async () => {
    const slots: string[] = [];
    start({
      entries,
      lastSlot,
      enqueue: async ({ key }, slot) => {
        slots.push(`${key} ${slot}`);
      },
    });
    await until('the slots', () => slots.length === 2);
    expect(slots).toEqual(['behind 2026-03-01T10:15:00.000Z', 'new 2026-03-01T03:17:00.000Z']);
  });

  test('happens again when Redis is back, for what could not be enqueued', async () => {
    const { logger, lines } = recordingLogger();
    let away = true;
    let back: () => void = () => undefined;
    const slots: string[] = [];
    start({
      entries,
      lastSlot,
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

  test('goes on with the other entries when one of them cannot be read or enqueued', async () => {
    const slots: string[] = [];
    start({
      entries,
      lastSlot: (entry) => {
        if (entry.key === 'behind') throw new Error('the ledger is busy');
        return null;
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

test('after FLUSHALL catching up rebuilds the queue from the ledger', async () => {
  const folder = temporaryFolder();
  const { logger } = recordingLogger();
  const redis = await startPrivateRedis({ dir: folder, logger });
  const ran: string[] = [];
  const system = await openQueueSystem({
    ledgerId: uniqueLedgerId(),
    target: redis.target,
    logger,
    handlers: handlersWith({ sync: async (job) => void ran.push(job.slot) }),
  });
  const made = start({
    entries: [{ key: 'ws', cron: '*/15 * * * *' }],
    enqueue: (_entry, slot) => system.addSync({ workspaceId: 'ws', slot, kind: 'scheduled' }),
    lastSlot: () => ran.at(-1) ?? null,
    onRedisBack: (listener) => system.onRedisBack(listener),
  });
  await made.catchUp();
  expect((await system.counts()).sync.waiting).toBe(1);
  const client = clientOf(redis.target);
  await client.flushall();
  expect((await system.counts()).sync.waiting).toBe(0);

  await made.catchUp();
  system.start();
  await until('the run', () => ran.length === 1);
  await made.catchUp();
  expect(ran).toEqual(['2026-03-01T10:15:00.000Z']);

  client.disconnect();
  await made.stop();
  await system.stop({ deadlineMs: 3000 });
  await redis.close();
  removeFolder(folder);
});
