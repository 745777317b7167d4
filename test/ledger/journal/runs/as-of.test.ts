import { expect, test } from 'vitest';
import { periodBounds } from '../../../../src/core/period.ts';
import { usageAsOf } from '../../../../src/ledger/journal/runs/as-of.ts';
import { failRun } from '../../../../src/ledger/journal/runs/fail-run.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { beginRun, openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const HOUR = 3_600_000;
const PERIOD = '2026-02';

test('filters for workspace, period and tenant exclude everything else', async () => {
  const { connection } = openLedger();
  const records = [usageRecord('a', 1), usageRecord('b', 2), usageRecord('a', 3, PERIOD), usageRecord('b', 4, PERIOD)];
  for (const workspaceId of ['ws-1', 'ws-2']) await publish(connection, records, { workspaceId, nowMs: NOON });
  const at = new Date(NOON).toISOString();
  const all = usageAsOf(connection, at);
  expect(all).toHaveLength(8);

  for (const workspaceId of [undefined, 'ws-2', 'none']) {
    for (const period of [undefined, PERIOD, '1999-01']) {
      for (const tenantId of [undefined, 'b', 'none']) {
        expect(usageAsOf(connection, at, { workspaceId, period, tenantId })).toEqual(
          all.filter(
            (row) =>
              row.workspace_id === (workspaceId ?? row.workspace_id) &&
              row.period === (period ?? row.period) &&
              row.tenant_id === (tenantId ?? row.tenant_id),
          ),
        );
      }
    }
  }
});

test('a row contains everything known about a key', async () => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('a', 2n ** 63n - 1n, PERIOD)], { nowMs: NOON });
  expect(usageAsOf(connection, new Date(NOON).toISOString())).toEqual([
    {
      workspace_id: 'ws-1',
      tenant_id: 'a',
      period: PERIOD,
      credits_used: 9223372036854775807n,
      request_count: 10n,
      period_start: periodBounds(PERIOD).start,
      period_end: periodBounds(PERIOD).end,
      state: 'settling',
      first_seen_at: new Date(NOON).toISOString(),
      changed_at: new Date(NOON).toISOString(),
      withdrawn: false,
      closed: false,
    },
  ]);
});

test('a failed run is not part of a past state', async () => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('a', 1)], { nowMs: NOON });
  await publish(connection, [usageRecord('a', 2)], { nowMs: NOON + 2 * HOUR });
  const { run } = beginRun(connection, { nowMs: NOON + 2 * HOUR });
  failRun(connection, run, { status: 'failed', code: 'x', message: '', pages: 0, records: 0 }, NOON + HOUR);
  expect(creditsAt(connection, NOON + HOUR)).toEqual(['a 1']);
});

function creditsAt(connection: LedgerDb, atMs: number): string[] {
  return usageAsOf(connection, new Date(atMs).toISOString()).map(
    (row) => `${row.tenant_id} ${row.credits_used}${row.closed ? ' closed' : ''}`,
  );
}
