import { expect, test } from 'vitest';
import type { HealthProbe } from '../../../src/daemon/http/probe.ts';
import { readiness } from '../../../src/daemon/http/readiness.ts';
import type { ReplicaHealth } from '../../../src/daemon/replica/replica-watch.ts';

const late: ReplicaHealth = {
  ...{ position: 7, lagLinks: 3, lagSeconds: 2_400, fenced: false, stale: true, unready: false },
  fault: { code: 'replica_unreachable', message: 'nobody answers' },
};

function probeOf(replica?: () => ReplicaHealth): HealthProbe {
  const probe: Partial<HealthProbe> = { redisUp: () => true, ledgerWritable: () => null, freshness: () => [] };
  return { ...probe, ...(replica === undefined ? {} : { replica }) } as HealthProbe;
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
