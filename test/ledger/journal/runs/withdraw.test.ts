import { expect, test } from 'vitest';
import { createLogger } from '../../../../src/core/logger.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { openReader } from '../../../../src/ledger/store/file/open.ts';
import type { FaultAction } from '../../../../src/sandbox/world/faults.ts';
import { applied, type Fixture, manualOrder, startFixture } from '../../../support/sandbox-fixture.ts';

const PERIOD = '2026-02';
const FOR_EVER = Number.POSITIVE_INFINITY;

test('a record missing upstream is withdrawn by the second run that misses it: its deltas return to zero', async () => {
  const { sync, upstream, view, sandbox, config } = await startWithTwo();
  upstream.remove('gone', PERIOD);
  sandbox.requests.clear();

  expect(await sync()).toMatchObject({ entries: 0, counts: { withdrawn: 0 } });
  expect(historiesAsked(sandbox)).toEqual([]);
  expect(await sync()).toMatchObject({ entries: 1, counts: { withdrawn: 1 } });

  const ledger = view();
  expect(ledger.rows('SELECT tenant_id, credits_used, request_count, withdrawn FROM finance_usage ORDER BY 1')).toEqual(
    [
      { tenant_id: 'gone', credits_used: 0n, request_count: 0n, withdrawn: 1n },
      { tenant_id: 'stays', credits_used: 5n, request_count: 1n, withdrawn: 0n },
    ],
  );
  expect(ledger.rows('SELECT tenants, credits_used FROM finance_period_totals')).toEqual([
    { tenants: 1n, credits_used: 5n },
  ]);
  expect(kindsOf(ledger.rows(GONE_HISTORY))).toEqual(['opened 40', 'withdrawn -40']);
  expect(historiesAsked(sandbox)).toEqual(['gone']);

  expect(await sync()).toMatchObject({ entries: 0 });
  expect(historiesAsked(sandbox)).toEqual(['gone']);
  expectSound(config.ledger.path);
});

const UNREADABLE: { what: string; action: FaultAction; code: string }[] = [
  { what: 'answers 500', action: { type: 'status', status: 500 }, code: 'server_error' },
  { what: 'is refused', action: { type: 'status', status: 403 }, code: 'forbidden' },
  { what: 'is no JSON', action: { type: 'body', body: '<html>' }, code: 'invalid_response' },
];

test.each(UNREADABLE)(
  'a history that $what withdraws nothing, the run is published all the same and a warning says why',
  async ({ action, code }) => {
    const fixture = await startWithTwo();
    const { upstream, sandbox, sync, view } = fixture;
    upstream.remove('gone', PERIOD);
    await sync();
    upstream.set({ tenantId: 'stays', period: PERIOD, credits: 6, requests: 1 });
    sandbox.faults.push({ when: { endpoint: 'tenant_history' }, times: FOR_EVER, action });

    const { outcome, lines } = await syncLogged(fixture);

    expect(outcome.counts).toEqual({ opened: 0, increased: 1, decreased: 0, withdrawn: 0, restored: 0 });
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'warn',
        msg: 'a history could not be read: none of its records is withdrawn',
        runId: outcome.runId,
        code,
      }),
    ]);
    expect(view().value("SELECT withdrawn FROM finance_usage WHERE tenant_id = 'gone'")).toBe(0n);
    sandbox.faults.clear();
    expect(await sync()).toMatchObject({ entries: 1, counts: { withdrawn: 1 } });
  },
);

test('a history that is not found means that the service no longer knows the tenant', async () => {
  const { sync, upstream, sandbox } = await startWithTwo();
  upstream.remove('gone', PERIOD);
  await sync();
  sandbox.faults.push({ when: { endpoint: 'tenant_history' }, action: { type: 'status', status: 404 } });
  expect(await sync()).toMatchObject({ counts: { withdrawn: 1 } });
});

test('a history with a missing second page withdraws nothing', async () => {
  const fixture = await startWithTwo();
  const { upstream, sandbox, sync } = fixture;
  // The first page holds another month of theirs, and announces a second one.
  upstream.set({ tenantId: 'gone', period: '2026-01', credits: 1, requests: 1 });
  upstream.remove('gone', PERIOD);
  await sync();
  sandbox.faults.push({
    when: { endpoint: 'tenant_history', page: 1 },
    action: {
      type: 'mutate',
      mutate: (envelope) => ({ ...envelope, data: { ...dataOf(envelope), total_records: 2, total_pages: 2 } }),
    },
  });
  sandbox.faults.push({ when: { endpoint: 'tenant_history', page: 2 }, action: { type: 'status', status: 404 } });

  const { outcome, lines } = await syncLogged(fixture);

  expect(outcome.counts.withdrawn).toBe(0);
  expect(lines).toEqual([expect.objectContaining({ code: 'not_found' })]);
});

test('with more absent tenants than a run asks for, each gets its turn, whatever other workspaces do', async () => {
  const { sync, upstream, sandbox } = await startFixture({
    workspaces: [{}, {}],
    settings: { suspiciousShrink: 1 },
  });
  const tenants = Array.from({ length: 400 }, (_, at) => `t${at}`);
  upstream.set({ tenantId: 'stays', period: PERIOD, credits: 5, requests: 1 });
  for (const tenantId of tenants) upstream.set({ tenantId, period: PERIOD, credits: 1, requests: 1 });
  const syncBoth = async () => {
    await sync();
    await sync({ workspaceId: 'ws-2' });
  };
  await syncBoth();
  dropFromListing(sandbox, (tenantId) => tenantId !== 'stays');
  await syncBoth();
  sandbox.requests.clear();

  for (let round = 1; round <= 2; round += 1) await syncBoth();

  expect(historiesAsked(sandbox).sort()).toEqual(tenants.sort());
});

const GONE_HISTORY = "SELECT kind, credits_delta FROM finance_history WHERE tenant_id = 'gone' ORDER BY entry_id";

/** A fixture that has published two tenants of February once. */
async function startWithTwo({ credits = 40, requests = 3 } = {}): Promise<Fixture> {
  const fixture = await startFixture();
  fixture.upstream.set({ tenantId: 'stays', period: PERIOD, credits: 5, requests: 1 });
  fixture.upstream.set({ tenantId: 'gone', period: PERIOD, credits, requests });
  await fixture.sync();
  return fixture;
}

/** The listing leaves some tenants out and counts without them; their own histories have everything. */
function dropFromListing(sandbox: Fixture['sandbox'], isDropped: (tenantId: string) => boolean): void {
  sandbox.faults.push({
    when: { endpoint: 'workspace_usage' },
    times: FOR_EVER,
    action: {
      type: 'mutate',
      mutate: (envelope) => {
        const data = dataOf(envelope);
        const usage = data.usage.filter((record) => !isDropped(record.tenant_id));
        return { ...envelope, data: { ...data, usage, total_records: usage.length, total_pages: 1 } };
      },
    },
  });
}

function dataOf(envelope: unknown): { usage: { tenant_id: string }[] } {
  return (envelope as { data: { usage: { tenant_id: string }[] } }).data;
}

/** One run whose warnings are kept. */
async function syncLogged({ another }: Fixture) {
  const lines: unknown[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const context = another(undefined, { logger: createLogger({ level: 'warn', destination }) });
  return { outcome: applied(await context.sync(manualOrder())), lines };
}

function historiesAsked(sandbox: Fixture['sandbox']): string[] {
  return sandbox.requests.records.flatMap(({ path }) => /tenant-usage\/([^/?]+)/.exec(path)?.[1] ?? []);
}

function kindsOf(rows: Record<string, unknown>[]): string[] {
  return rows.map(({ kind, credits_delta }) => `${kind} ${credits_delta}`);
}

function expectSound(path: string): void {
  const reader = openReader(path);
  expect(verifyLedger(reader.connection).faults).toEqual([]);
  reader.close();
}
