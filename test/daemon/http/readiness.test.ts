import { expect, test } from 'vitest';
import type { Freshness, HealthProbe } from '../../../src/daemon/http/probe.ts';
import { readiness } from '../../../src/daemon/http/readiness.ts';
import type { PublishHealth } from '../../../src/daemon/watches/publish-watch.ts';

const late: PublishHealth = {
  ...{ position: 7, lagLinks: 3, lagSeconds: 2_400, stale: true, unready: false },
  fault: { code: 'publish_unreachable', message: 'nobody answers' },
};

function probeOf(publishing: () => PublishHealth | null = () => null): HealthProbe {
  const probe = {
    redisUp: () => true,
    redisFault: () => null,
    writeFault: () => null,
    freshness: () => [],
    maxToleratedStale: 0,
  };
  return { ...probe, publishing } as Partial<HealthProbe> as HealthProbe;
}

test('without a Postgres copy the answer has no `publish`', () => {
  expect(readiness(probeOf())).toEqual({ status: 'ready' });
});

test('a late Postgres copy is reported, and the daemon stays ready', () => {
  expect(readiness(probeOf(() => late))).toEqual({
    status: 'ready',
    publish: { position: 7, lag_links: 3, lag_seconds: 2_400, stale: true, fault: 'publish_unreachable' },
  });
});

test('a late Postgres copy makes the daemon not ready if configured', () => {
  expect(readiness(probeOf(() => ({ ...late, unready: true })))).toMatchObject({
    status: 'not_ready',
    reasons: [{ code: 'publish_stale', message: 'the Postgres copy is out of date: nobody answers' }],
    publish: { lag_links: 3 },
  });
});

test('an unreadable ledger does not break the answer', () => {
  const publishing = (): never => {
    throw new Error('database disk image is malformed');
  };
  expect(readiness(probeOf(publishing))).toEqual({ status: 'ready' });
});

test.each([
  [1, 'ready'],
  [2, 'ready'],
  [3, 'not_ready'],
])('with 2 of 20 workspaces allowed to be stale, %i stale ones leave the daemon %s', (count, status) => {
  const freshness = (): Freshness[] =>
    Array.from({ length: 20 }, (_, index) => {
      return { workspaceId: `ws-${index}`, lastCompleteRunAtMs: 0, staleAfterMs: 60_000, stale: index < count };
    });
  const probe = { ...probeOf(), freshness, maxToleratedStale: 2 };
  const answer = readiness(probe);
  expect(answer.status).toBe(status);
  expect((status === 'ready' ? answer.tolerated : answer.reasons)?.map((fault) => fault.workspace_id)).toHaveLength(
    count,
  );
  expect(readiness({ ...probe, redisUp: () => false })).toMatchObject({ status: 'not_ready' });
});

test('a Redis that refuses commands is a reason, with its error message', () => {
  const redisFault = () => ({ reason: 'its user "ledger" may not run EVAL (NOPERM)', hint: 'grant it' });
  expect(readiness({ ...probeOf(), redisUp: () => false, redisFault }).reasons).toEqual([
    { code: 'redis_unavailable', message: 'Redis is not available: its user "ledger" may not run EVAL (NOPERM)' },
  ]);
});
