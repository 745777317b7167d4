import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { privateRedisFolder } from '../../src/queue/redis/target.ts';
import { eventually } from '../support/eventually.ts';
import { startFixture } from '../support/sandbox-fixture.ts';
import { NOON } from '../support/time/test-clock.ts';

const MIDNIGHT = NOON - 12 * 60 * 60_000;

test('a daily slot that failed with 503 and lost its Redis is applied minutes later, not a day later', async () => {
  const settings = { cron: '0 0 * * *', reconcileCron: '0 0 1 1 *' };
  const fixture = await startFixture({
    thread: true,
    workspaces: [{ generate: { seed: 3, tenants: 5, months: 2 } }],
    settings,
  });
  fixture.clock.set(MIDNIGHT);
  fixture.sandbox.faults.push({ times: Number.POSITIVE_INFINITY, action: { type: 'status', status: 503 } });
  const daemon = await startDaemon(fixture.context);
  onTestFinished(() => daemon.stop());
  const runs = () =>
    fixture
      .view()
      .rows('SELECT status, error_code FROM finance_runs ORDER BY started_at')
      .map((run) => ({ ...run }));
  await eventually(() => expect(runs()).toEqual([{ status: 'failed', error_code: 'server_error' }]));

  const redis = new Redis(`${privateRedisFolder(fixture.config.ledger.path)}/redis.sock`);
  await redis.flushall();
  redis.disconnect();
  fixture.sandbox.faults.clear();
  fixture.clock.advance(15_000);
  await eventually(() =>
    expect(runs()).toEqual([
      { status: 'failed', error_code: 'server_error' },
      { status: 'applied', error_code: null },
    ]),
  );
});
