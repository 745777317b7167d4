import { expect, test } from 'vitest';
import { verifyLedger } from '../../src/ledger/audit/verify/verify.ts';
import { openReader } from '../../src/ledger/store/file/open.ts';
import type { SandboxWorkspace } from '../../src/sandbox/world/store.ts';
import type { LedgerView } from '../support/ledger-view.ts';
import { rejection } from '../support/rejection.ts';
import { startFixture } from '../support/sandbox-fixture.ts';

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
