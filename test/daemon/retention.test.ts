import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/core/logger.ts';
import { type RetentionOptions, startRetention } from '../../src/daemon/watches/retention.ts';
import { startFixture } from '../support/sandbox-fixture.ts';
import { testClock } from '../support/time/test-clock.ts';

const DAY = 86_400_000;
const NOTHING = { certificates: 0, runs: 0, notifications: 0, more: false };

test('prunes in steps up to the retention limit, with a bounded number of steps per tick', async () => {
  const asked: number[] = [];
  let left = 3;
  const retention = start({
    prune: async ({ beforeMs }) => {
      asked.push(beforeMs);
      left -= 1;
      return { ...NOTHING, certificates: 1, more: left !== 0 };
    },
  });
  await retention.run();
  expect(asked).toEqual(Array(3).fill(testClock().now() - 400 * DAY));

  left = -1;
  await retention.run();
  expect(asked).toHaveLength(3 + 40);
});

test('continues after a failure', async () => {
  let calls = 0;
  const retention = start({
    prune: async () => {
      calls += 1;
      if (calls === 1) throw new Error('disk I/O error');
      return NOTHING;
    },
  });
  await retention.run();
  await retention.run();
  expect(calls).toBe(2);
});

test('the writer prunes old records', async () => {
  const { context, sync, clock, view, upstream } = await startFixture({ thread: true });
  upstream.set({ tenantId: 'a', period: '2026-03', credits: 5, requests: 1 });
  await sync();
  await sync();
  clock.advance(500 * DAY);
  const writer = await context.writer();

  const pruned = await writer.prune({ beforeMs: clock.now() - 400 * DAY, nowMs: clock.now() });

  expect(pruned).toMatchObject({ more: false });
  expect(pruned.certificates).toBeGreaterThan(0);
  expect(view().value('SELECT count(DISTINCT run_key) FROM walks')).toBe(1n);
});

function start(options: Pick<RetentionOptions, 'prune'>) {
  const logger = createLogger({ level: 'silent' });
  const retention = startRetention({ retentionDays: 400, clock: testClock(), logger, ...options });
  onTestFinished(() => retention.stop());
  return retention;
}
