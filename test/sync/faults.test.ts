import { expect, test } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import type { Period } from '../../src/core/period.ts';
import type { FaultAction } from '../../src/sandbox/world/faults.ts';
import { type Rejection, rejection } from '../support/rejection.ts';
import { type Fixture, type FixtureOptions, manualOrder, startFixture } from '../support/sandbox-fixture.ts';

const GENERATED = { generate: { seed: 5, tenants: 125, months: 2 } };
/** Attempts that a client of the fixture makes. */
const ATTEMPTS = 3;

interface FaultCase {
  name: string;
  action: FaultAction;
  code: string;
  retryable: boolean;
  /** What the error says. */
  says?: RegExp;
  attempts: number;
}

const PAGE_2_FAULTS: FaultCase[] = [
  {
    name: '500 for ever',
    action: { type: 'status', status: 500 },
    code: 'server_error',
    retryable: true,
    attempts: ATTEMPTS,
  },
  { name: 'connections reset', action: { type: 'reset' }, code: 'network', retryable: true, attempts: ATTEMPTS },
  { name: 'bodies cut off', action: { type: 'truncate' }, code: 'network', retryable: true, attempts: ATTEMPTS },
  {
    name: 'a page that is not JSON',
    action: { type: 'body', body: '<html>maintenance</html>' },
    code: 'invalid_response',
    retryable: true,
    says: /not JSON \(page 2\)/,
    attempts: 1,
  },
  {
    name: 'a page whose record misses a field',
    action: { type: 'mutate', mutate: (envelope) => withoutCredits(envelope, 3) },
    code: 'invalid_response',
    retryable: true,
    says: /data\.usage\[3\]\.credits_used is missing \(page 2\)/,
    attempts: 1,
  },
  {
    name: '429 with a long Retry-After',
    action: { type: 'status', status: 429, headers: { 'Retry-After': '3600' } },
    code: 'rate_limited',
    retryable: true,
    attempts: 1,
  },
];

test.each(PAGE_2_FAULTS)(
  '$name applies nothing, says why in the run and is over when the service recovers',
  async (fault) => {
    const fixture = await startWithChange();
    const { sandbox, sync } = fixture;
    sandbox.requests.clear();
    sandbox.faults.push({ when: { page: 2 }, times: Number.POSITIVE_INFINITY, action: fault.action });

    const error = await expectNothingPublished(fixture, () => sync());

    expect(error).toMatchObject({ code: fault.code, retryable: fault.retryable });
    if (fault.says !== undefined) expect(error.message).toMatch(fault.says);
    const attempts = sandbox.requests.records.filter(({ query }) => /(?:^|&)page=2(?:&|$)/.test(query));
    expect(attempts).toHaveLength(fault.attempts);
    sandbox.faults.clear();
    expect((await sync()).entries).toBe(1);
  },
);

test('an empty answer where the ledger has records is refused as suspicious', async () => {
  const fixture = await startWithChange();
  fixture.upstream.clear();

  const error = await expectNothingPublished(fixture, fixture.sync, 'suspicious_empty');

  expect(error.code).toBe('suspicious_empty');
  expect(error.message).toContain('250');
});

test('a listing that lacks half of what was known is withheld, unless the setting lets it pass', async () => {
  const fixture = await startWithChange();
  const lost = fixture.view().rows('SELECT tenant_id, period FROM finance_usage ORDER BY tenant_id LIMIT 125');
  for (const { tenant_id, period } of lost) fixture.upstream.remove(String(tenant_id), String(period) as Period);

  const error = await expectNothingPublished(fixture, fixture.sync, 'suspicious_shrink');

  expect(error.message).toBe('the service no longer lists 125 of 250 records');
  const willing = fixture.another((config) => ({
    ...config,
    workspaces: config.workspaces.map((workspace) => ({ ...workspace, suspiciousShrink: 1 })),
  }));
  expect(await willing.sync(manualOrder())).toMatchObject({ status: 'applied' });
});

test('an empty workspace that never had a record is a success', async () => {
  const { sync, view } = await startFixture();

  expect(await sync()).toMatchObject({ records: 0, entries: 0, pages: 1 });
  expect(view().rows('SELECT status, digest IS NOT NULL AS published FROM finance_runs')).toEqual([
    { status: 'applied', published: 1n },
  ]);
});

test('totals that change between pages cost another walk, and the state published is the calm one', async () => {
  const { sandbox, upstream, sync, view } = await startWithChange();
  sandbox.faults.push({
    when: { page: 2 },
    action: {
      type: 'before',
      run: () => upstream.set({ tenantId: 'late', period: '2026-03', credits: 7, requests: 1 }),
    },
  });

  const run = await sync();

  expect(run).toMatchObject({ walks: 3, records: 251, entries: 2 });
  expect(view().rows('SELECT verdict, signs FROM walks WHERE run_key = 2 ORDER BY walk_number')).toMatchObject([
    { verdict: 'moved', signs: expect.stringContaining('totals_moved') },
    { verdict: 'unconfirmed', signs: '[]' },
    { verdict: 'accepted', signs: '[]' },
  ]);
});

test('a run that is cancelled while it waits to begin another walk says so and applies nothing', async () => {
  const fixture = await startWithChange();
  const { view } = fixture;
  const slow = fixture.another((config) => ({
    ...config,
    workspaces: config.workspaces.map((workspace) => ({ ...workspace, requestsPerSecond: 1 })),
  }));
  const ledger = view();
  const stop = new AbortController();
  const reason = new AppError('cancelled', 'stopped by SIGTERM');
  const order = manualOrder({ from: '2026-03', to: '2026-03', signal: stop.signal });

  const error = await expectNothingPublished(fixture, async () => {
    const run = rejection(slow.sync(order));
    await expect.poll(() => ledger.value('SELECT count(*) FROM walks WHERE run_key = 2')).toBe(1n);
    stop.abort(reason);
    throw await run;
  });

  expect(error).toBe(reason);
});

/** A workspace of 250 records on 3 pages whose first sync is done, and one change upstream that waits to be read. */
async function startWithChange(options: FixtureOptions = {}): Promise<Fixture> {
  const fixture = await startFixture({ workspaces: [GENERATED], ...options });
  await fixture.sync();
  const [first] = fixture.upstream.rows();
  if (first === undefined) throw new Error('there are no rows');
  fixture.upstream.set({ ...first, credits: 123_456 });
  return fixture;
}

/** Runs it, expects it to fail, and checks that finance sees what it saw before and the run says why. */
async function expectNothingPublished(
  { view }: Fixture,
  run: () => Promise<unknown>,
  status = 'failed',
): Promise<Rejection> {
  const ledger = view();
  const before = ledger.dump();
  const error = await rejection(run());
  expect(ledger.dump()).toBe(before);
  expect(ledger.rows('SELECT status, error_code, digest, entries FROM runs ORDER BY run_key DESC LIMIT 1')).toEqual([
    { status, error_code: error.code, digest: null, entries: 0n },
  ]);
  expect(ledger.value('SELECT released FROM leases')).toBe(1n);
  return error;
}

function withoutCredits(envelope: unknown, index: number): unknown {
  const { data } = envelope as { data: { usage: Record<string, unknown>[] } };
  delete data.usage[index]?.credits_used;
  return envelope;
}
