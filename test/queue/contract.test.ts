import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { openBullmqQueue } from '../../src/queue/bullmq-queue.ts';
import type { SyncHandler, SyncJob } from '../../src/queue/jobs.ts';
import type { SyncQueue } from '../../src/queue/sync-queue.ts';
import { Broker } from '../simulation/world/broker.ts';
import { SimulatedProcess } from '../simulation/world/process.ts';
import { Random } from '../support/random.ts';
import { recordingLogger, redisForAll, uniqueLedgerId, until } from './support.ts';

const { logger } = recordingLogger();
const redis = redisForAll();
const opened: SyncQueue[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((queue) => queue.stop({ deadlineMs: 20_000, graceMs: 0 })));
});

/** Opens the queue of one daemon; all queues of a test carry the same jobs. */
type OpenQueue = (concurrency?: number) => Promise<SyncQueue>;

function onBullmq(): OpenQueue {
  const ledgerId = uniqueLedgerId();
  return (concurrency = 4) =>
    openBullmqQueue({ ledgerId, target: redis().target, logger, settings: { syncConcurrency: concurrency } });
}

function inMemory(): OpenQueue {
  const broker = new Broker(systemClock, new Random(1));
  const host = { name: 'here', clockOffsetMs: 0, lookMs: 0, disk: null, met: new Map() };
  return async (concurrency = 4) =>
    broker.connect(new SimulatedProcess('daemon', 1, host, systemClock, new Random(1)), concurrency);
}

const job = (workspaceId: string, attempt = 1): SyncJob => ({
  workspaceId,
  slot: '2026-03-01T10:15:00.000Z',
  kind: 'scheduled',
  attempt,
});

describe.each([
  { what: 'BullMQ on Redis', carry: onBullmq },
  { what: 'the queue of simulations', carry: inMemory },
])('what $what promises', ({ carry }) => {
  async function open(queues: OpenQueue, concurrency?: number): Promise<SyncQueue> {
    const queue = await queues(concurrency);
    opened.push(queue);
    return queue;
  }

  test('a workspace has one job until it has ended, however often a job is added', async () => {
    const queues = carry();
    const [first, second] = [await open(queues), await open(queues)];
    const release = Promise.withResolvers<void>();
    const done: string[] = [];
    const handle: SyncHandler = async ({ workspaceId }) => {
      await release.promise;
      done.push(workspaceId);
    };
    const answers = await Promise.all([first, second, first].map((queue) => queue.addSync(job('a'))));
    expect(answers.toSorted()).toEqual(['added', 'exists', 'exists']);
    first.start(handle);
    second.start(handle);
    await until('the job to run', async () => (await first.counts()).active === 1);
    expect(await second.addSync(job('a', 2))).toBe('exists');
    expect(await second.addSync(job('b'))).toBe('added');
    release.resolve();
    await until('both to end', () => done.length === 2);

    expect(done.toSorted()).toEqual(['a', 'b']);
    await until('the workspace to be free', async () => (await first.addSync(job('a', 2))) === 'added');
  });

  test('a failed job frees its workspace, and the queue does not retry it', async () => {
    const queue = await open(carry());
    let times = 0;
    queue.start(async () => {
      times += 1;
      throw new Error('as it was meant');
    });
    expect(await queue.addSync(job('a'))).toBe('added');
    await until('the workspace to be free', async () => (await queue.addSync(job('a', 2))) === 'added');
    await until('the second to run', () => times === 2);
  });

  test('a job that no worker has taken is listed as waiting', async () => {
    const queue = await open(carry());
    await queue.addSync(job('a'));
    expect([...(await queue.waitingSyncs()).keys()]).toEqual(['a']);
    queue.start(async () => undefined);
    await until('it to be taken', async () => (await queue.waitingSyncs()).size === 0);
  });

  test('no daemon runs more jobs at once than its concurrency', async () => {
    const queue = await open(carry(), 2);
    const release = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    let done = 0;
    for (const id of ['a', 'b', 'c', 'd']) await queue.addSync(job(id));
    queue.start(async () => {
      running += 1;
      most = Math.max(most, running);
      await release.promise;
      running -= 1;
      done += 1;
    });
    await until('two to run', () => running === 2);
    release.resolve();
    await until('all to end', () => done === 4);

    expect(most).toBe(2);
  });

  test('a job that a stop interrupted goes to the next daemon', async () => {
    const queues = carry();
    const [first, second] = [await open(queues), await open(queues)];
    const began = Promise.withResolvers<void>();
    let stopped: unknown;
    first.start(async (_job, { signal }) => {
      began.resolve();
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          stopped = signal.reason;
          reject(signal.reason);
        });
      });
    });
    await first.addSync(job('a'));
    await began.promise;
    let taken = '';
    second.start(async ({ workspaceId }) => {
      taken = workspaceId;
    });
    await first.stop({ deadlineMs: 20_000, graceMs: 0 });

    await until('the second to take it', () => taken === 'a');
    expect(stopped).toMatchObject({ code: 'stopping', retryable: true });
  });
});
