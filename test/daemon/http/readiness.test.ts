import { expect, test } from 'vitest';
import type { Freshness, HealthProbe } from '../../../src/daemon/http/probe.ts';
import { readiness } from '../../../src/daemon/http/readiness.ts';
import type { ReplicaHealth } from '../../../src/daemon/replica/replica-watch.ts';

const late: ReplicaHealth = {
  ...{ position: 7, lagLinks: 3, lagSeconds: 2_400, fenced: false, stale: true, unready: false },
  fault: { code: 'replica_unreachable', message: 'nobody answers' },
};

function probeOf(replica?: () => ReplicaHealth): HealthProbe {
  const probe = { redisUp: () => true, ledgerWritable: () => null, freshness: () => [], mostStale: 0 };
  return { ...probe, ...(replica === undefined ? {} : { replica }) } as Partial<HealthProbe> as HealthProbe;
}

test('without a replica nothing is said of one', () => {
  expect(readiness(probeOf())).toEqual({ status: 'ready' });
});

test('a late replica is told of, and leaves the daemon ready', () => {
  expect(readiness(probeOf(() => late))).toEqual({
    status: 'ready',
    replica: { position: 7, lag_links: 3, lag_seconds: 2_400, stale: true, fault: 'replica_unreachable' },
  });
});

test('where the configuration says so, a late replica is a reason not to be ready', () => {
  expect(readiness(probeOf(() => ({ ...late, unready: true })))).toMatchObject({
    status: 'not_ready',
    reasons: [{ code: 'replica_stale', message: 'the replica is late by 2400 s: nobody answers' }],
    replica: { lag_links: 3 },
  });
});

test('a ledger that cannot be read is no broken answer', () => {
  const replica = (): never => {
    throw new Error('database disk image is malformed');
  };
  expect(readiness(probeOf(replica))).toEqual({ status: 'ready' });
});

test.each([
  [1, 'ready'],
  [2, 'ready'],
  [3, 'not_ready'],
])('with 2 of 20 workspaces allowed to be stale, %i of them leave the daemon %s', (count, status) => {
  const freshness = (): Freshness[] =>
    Array.from({ length: 20 }, (_, index) => {
      return { workspaceId: `ws-${index}`, lastCompleteRunAtMs: 0, staleAfterMs: 60_000, stale: index < count };
    });
  const probe = { ...probeOf(), freshness, mostStale: 2 };
  const answer = readiness(probe);
  expect(answer.status).toBe(status);
  expect((status === 'ready' ? answer.tolerated : answer.reasons)?.map((fault) => fault.workspace_id)).toHaveLength(
    count,
  );
  expect(readiness({ ...probe, redisUp: () => false })).toMatchObject({ status: 'not_ready' });
});
