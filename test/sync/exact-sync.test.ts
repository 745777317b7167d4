import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifyLedger } from '../../src/ledger/audit/verify/verify.ts';
import { openReader } from '../../src/ledger/store/file/open.ts';
import type { SandboxWorkspace } from '../../src/sandbox/world/store.ts';
import type { LedgerView } from '../support/ledger-view.ts';
import { rejection } from '../support/rejection.ts';
import { startFixture } from '../support/sandbox-fixture.ts';

const GENERATED = { generate: { seed: 3, tenants: 500, months: 5 } };
/** Keys whose deltas do not sum to what finance_usage says, or that stand in one of the two alone. */
const UNEXPLAINED = `
  WITH u AS MATERIALIZED (SELECT * FROM finance_usage), h AS MATERIALIZED (
    SELECT workspace_id, tenant_id, period, sum(credits_delta) AS credits, sum(requests_delta) AS requests
    FROM finance_history GROUP BY workspace_id, tenant_id, period)
  SELECT count(*) FROM u FULL JOIN h USING (workspace_id, tenant_id, period)
  WHERE u.credits_used IS NOT h.credits OR u.request_count IS NOT h.requests`;

test('all 2,500 records arrive in finance_usage exactly, and a second sync writes no entry', async () => {
  const { sync, upstream, view, sandbox } = await startFixture({ workspaces: [GENERATED] });

  const first = await sync();

  const ledger = view();
  expect(upstream.rows()).toHaveLength(2_500);
  expect(usageIn(ledger)).toEqual(usageAt(upstream));
  expect(first).toMatchObject({ walks: 2, pages: 25, records: 2_500, entries: 2_500, appliedSeq: 1 });
  expect(first.counts).toEqual({ opened: 2_500, increased: 0, decreased: 0, withdrawn: 0, restored: 0 });
  expect(sandbox.requests.count).toBe(50);

  const before = ledger.dump();
  const second = await sync();
  expect(second).toMatchObject({ entries: 0, appliedSeq: 2 });
  expect(ledger.dump()).toBe(before);
});

test('after any changes upstream each key is the sum of its deltas and the ledger verifies', {
  timeout: 90_000,
}, async () => {
  const { sync, upstream, view, config, clock } = await startFixture({
    workspaces: [GENERATED],
    settings: { lookbackPeriods: 4 },
  });
  await sync();
  const ledger = view();

  for (const changes of fc.sample(changesUpstream(), { numRuns: 6, seed: 20_260_320 })) {
    clock.advance(60_000);
    const rows = upstream.rows();
    const changed = new Set<string>();
    for (const { position, credits, isNew } of changes) {
      const row = rows[position % rows.length];
      if (row === undefined) throw new Error('there are no rows');
      const tenantId = isNew ? `new-${position}` : row.tenantId;
      upstream.set({ tenantId, period: row.period, credits, requests: position });
      changed.add(`${row.period} ${tenantId}`);
    }
    const { entries } = await sync();
    expect(usageIn(ledger)).toEqual(usageAt(upstream));
    expect(ledger.value(UNEXPLAINED)).toBe(0n);
    // The open month also fills as the clock advances, so there are more changes than those made here.
    expect(entries).toBeGreaterThanOrEqual(changed.size);
  }

  const kinds = ledger.rows('SELECT DISTINCT kind FROM finance_history ORDER BY kind').map(({ kind }) => kind);
  expect(kinds).toEqual(['decreased', 'increased', 'opened']);
  const reader = openReader(config.ledger.path);
  expect(verifyLedger(reader.connection)).toMatchObject({ faults: [], runs: 7 });
  reader.close();
});

test('integers beyond 2^53 up to 2^63-1 arrive exactly, negative ones too', async () => {
  const { sync, upstream, view } = await startFixture();
  upstream.set({ tenantId: 'above-2-53', period: '2026-03', credits: 9007199254740993n, requests: 1 });
  upstream.set({
    tenantId: 'highest',
    period: '2026-02',
    credits: 9223372036854775807n,
    requests: 9223372036854775807n,
  });
  upstream.set({ tenantId: 'lowest', period: '2026-01', credits: -9223372036854775807n, requests: 1 });

  await sync();

  expect(view().rows('SELECT tenant_id, credits_used, request_count FROM finance_usage ORDER BY tenant_id')).toEqual([
    { tenant_id: 'above-2-53', credits_used: 9007199254740993n, request_count: 1n },
    { tenant_id: 'highest', credits_used: 9223372036854775807n, request_count: 9223372036854775807n },
    { tenant_id: 'lowest', credits_used: -9223372036854775807n, request_count: 1n },
  ]);
});

test.each([2n ** 63n, -(2n ** 63n)])('%d is refused with its field named and applies nothing', async (credits) => {
  const { sync, upstream, view } = await startFixture();
  upstream.set({ tenantId: 'too-much', period: '2026-03', credits, requests: 1 });

  const error = await rejection(sync());

  expect(error.code).toBe('invalid_response');
  expect(error.message).toContain('data.usage[0].credits_used');
  expect(error.message).toContain('page 1');
  const ledger = view();
  expect(ledger.value('SELECT count(*) FROM finance_usage')).toBe(0n);
  expect(ledger.rows('SELECT status, error_code FROM finance_runs')).toEqual([
    { status: 'failed', error_code: 'invalid_response' },
  ]);
});

test('identifiers are kept byte for byte and differ when their bytes differ', async () => {
  const { sync, upstream, view } = await startFixture();
  const ids = ['a', 'A', ' a', 'e\u0301', '\u00e9', 'nul\u0000l', '\u{1f600}', "o'brien; --"];
  for (const [index, tenantId] of ids.entries()) {
    upstream.set({ tenantId, period: '2026-03', credits: index, requests: 0 });
  }

  await sync();

  const stored = view().rows('SELECT tenant_id FROM finance_usage ORDER BY credits_used');
  expect(stored.map(({ tenant_id }) => tenant_id)).toEqual(ids);
});

test('two workspaces that bring new tenants at the same time through one writer keep them apart', async () => {
  const fixture = await startFixture({
    workspaces: [
      { generate: { seed: 1, tenants: 300, months: 2 } },
      { generate: { seed: 2, tenants: 400, months: 2 } },
    ],
  });
  const { sync, sandbox, view, config } = fixture;

  await Promise.all([sync({ workspaceId: 'ws-1' }), sync({ workspaceId: 'ws-2' })]);

  const ledger = view();
  for (const id of ['ws-1', 'ws-2']) expect(usageIn(ledger, id)).toEqual(usageAt(sandbox.workspace(id)));
  const reader = openReader(config.ledger.path);
  expect(verifyLedger(reader.connection).faults).toEqual([]);
  reader.close();
});

interface Change {
  position: number;
  credits: number;
  isNew: boolean;
}

function changesUpstream(): fc.Arbitrary<Change[]> {
  return fc.array(fc.record({ position: fc.nat(1_000_000), credits: fc.nat(200_000), isNew: fc.boolean() }), {
    minLength: 20,
    maxLength: 60,
  });
}

/** `period tenant` to `credits requests`, as the service has them. */
function usageAt(upstream: SandboxWorkspace): Map<string, string> {
  return sorted(upstream.rows().map((row) => [`${row.period} ${row.tenantId}`, `${row.credits} ${row.requests}`]));
}

function usageIn(ledger: LedgerView, workspaceId = 'ws-1'): Map<string, string> {
  const rows = ledger.rows('SELECT * FROM finance_usage WHERE workspace_id = ?', workspaceId);
  return sorted(rows.map((row) => [`${row.period} ${row.tenant_id}`, `${row.credits_used} ${row.request_count}`]));
}

function sorted(entries: [string, string][]): Map<string, string> {
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
