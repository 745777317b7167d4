import { describe, expect, test } from 'vitest';
import type { QueueSettings, SyncHandler, SyncJob } from '../../src/queue/jobs.ts';
import { rejection } from '../support/rejection.ts';
import { begin, clientOf, openQueue, recordingLogger, redisForAll, uniqueLedgerId, until } from './support.ts';

const { logger } = recordingLogger();
const redis = redisForAll();

function open(handlers: { sync?: SyncHandler }, ledgerId = uniqueLedgerId(), settings: Partial<QueueSettings> = {}) {
  return openQueue({ ledgerId, target: redis().target, logger, handle: handlers.sync, settings });
}

const slotJob = (workspaceId: string, slot = '2026-03-01T10:15:00.000Z'): SyncJob => ({
  workspaceId,
  slot,
  kind: 'scheduled',
  attempt: 1,
});

describe('enqueueing', () => {
  test('of many concurrent calls for one workspace, over two connections and for any slots, exactly one adds a job', async () => {
    const ledgerId = uniqueLedgerId();
    const queues = await Promise.all([open({}, ledgerId), open({}, ledgerId)]);
    const asked = Array.from({ length: 40 }, (_, index) =>
      queues[index % 2]?.addSync({ ...slotJob('ws'), attempt: 1 + (index % 3) }),
    );
    const answers = await Promise.all(asked);
    expect(answers.filter((answer) => answer === 'added')).toHaveLength(1);
    expect(await queues[0]?.counts()).toMatchObject({ waiting: 1, active: 0 });
  });

  test('a defect is not reported as an outage: errors of a job or of stored data are thrown unchanged', async () => {
    const system = await open({});
    const unstorable: SyncJob & { extra: bigint } = { ...slotJob('ws'), extra: 1n };
    await expect(system.addSync(unstorable)).rejects.toThrow(/BigInt/);
    const client = clientOf(redis().target);
    await client.set(`bull:${system.queues[0]?.name}:wait`, 'no list');
    const refused = await rejection(system.addSync(slotJob('ws')));
    expect(refused.message).toContain('WRONGTYPE');
    expect(refused).not.toHaveProperty('code', 'redis_unavailable');
  });

  test('a workspace gets a new job after its job was deleted from Redis by hand', async () => {
    const system = await open({});
    await system.addSync(slotJob('ws'));
    const client = clientOf(redis().target);
    const [queue] = system.queues;
    const keys = await client.keys(`bull:${queue?.name}:*`);
    await client.del(keys.filter((key) => !key.includes(':de:')));
    expect(await system.addSync({ ...slotJob('ws'), attempt: 2 })).toBe('added');
  });

  test('runs that wait for their service do not block each other', async () => {
    const { promise: opened, resolve: finish } = Promise.withResolvers<void>();
    let begun = 0;
    const system = await open({
      sync: async () => {
        begun += 1;
        await opened;
      },
    });
    begin(system);
    await Promise.all(Array.from({ length: 60 }, (_, index) => system.addSync(slotJob(`ws-${index}`))));
    await until('all to be under way at once', () => begun === 60);
    finish();
    await until('all to end', async () => (await system.counts()).completed === 60);
  });

  test('workspace ids that are numbers or contain colons get their own jobs', async () => {
    const system = await open({});
    for (const id of ['12345', '0', '0:1', 'a:b:c', '']) expect(await system.addSync(slotJob(id))).toBe('added');
    expect((await system.counts()).waiting).toBe(5);
  });

  test('two ledgers on one Redis do not take each other’s jobs', async () => {
    const taken: string[] = [];
    const mine = await open({ sync: async (job) => void taken.push(`mine ${job.workspaceId}`) });
    const other = await open({ sync: async (job) => void taken.push(`other ${job.workspaceId}`) });
    await mine.addSync(slotJob('a'));
    await other.addSync(slotJob('b'));
    begin(other);
    await until('the job of the other ledger', async () => (await other.counts()).completed === 1);
    expect(taken).toEqual(['other b']);
    expect((await mine.counts()).waiting).toBe(1);
  });
});

describe('failures', () => {
  test('results with big integers and progress are stored', async () => {
    const system = await open({
      sync: async (_job, { progress }) => {
        progress({ pages: 3 });
        return { credits: 2n ** 62n };
      },
    });
    begin(system);
    await system.addSync(slotJob('ws'));
    await until('the job to complete', async () => (await system.counts()).completed === 1);
    const [job] = (await system.queues[0]?.getJobs(['completed'])) ?? [];
    expect(job?.returnvalue).toEqual({ credits: '4611686018427387904' });
    expect(job?.progress).toEqual({ pages: 3 });
  });
});

describe('stopping', () => {
  test('lets a running handler finish and takes no more jobs', async () => {
    const { promise: opened, resolve: finish } = Promise.withResolvers<void>();
    const events: string[] = [];
    const system = await open(
      {
        sync: async (job) => {
          events.push(`began ${job.workspaceId}`);
          await opened;
          events.push(`ended ${job.workspaceId}`);
        },
      },
      uniqueLedgerId(),
      { syncConcurrency: 1 },
    );
    const ledger = system.queues[0];
    await system.addSync(slotJob('a'));
    await system.addSync(slotJob('b'));
    begin(system);
    begin(system);
    await until('the first job to begin', () => events.length === 1);
    const stopped = system.stop({ deadlineMs: 30_000, graceMs: 30_000 });
    expect(system.stop()).toBe(stopped);
    finish();
    expect(await stopped).toBe(true);
    expect(events).toEqual(['began a', 'ended a']);

    const client = clientOf(redis().target);
    expect(await client.llen(`bull:${ledger?.name}:wait`)).toBe(1);
    expect(await client.zcard(`bull:${ledger?.name}:completed`)).toBe(1);
  });

  test('returns by its deadline even if a handler ignores its signal', async () => {
    const { promise: opened, resolve: finish } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
    const system = await open({
      sync: async () => {
        begins();
        await opened;
      },
    });
    begin(system);
    await system.addSync(slotJob('ws'));
    await begun;
    const asked = performance.now();
    expect(await system.stop({ deadlineMs: 400, graceMs: 100 })).toBe(false);
    expect(performance.now() - asked).toBeLessThan(20_000);
    finish();
  });
});

test('a ledger id that cannot name a queue is rejected', async () => {
  await expect(open({}, 'a:b')).rejects.toMatchObject({ code: 'bad_ledger_id' });
});
