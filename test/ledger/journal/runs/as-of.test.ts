import { expect, test } from 'vitest';
import { periodBounds } from '../../../../src/core/period.ts';
import { commitClose } from '../../../../src/ledger/journal/charges/commit-close.ts';
import { closePeriod, reopenPeriod } from '../../../../src/ledger/journal/close/close-period.ts';
import { usageAsOf } from '../../../../src/ledger/journal/runs/as-of.ts';
import { failRun } from '../../../../src/ledger/journal/runs/fail-run.ts';
import type { LedgerConnection } from '../../../../src/ledger/store/file/open.ts';
import { beginRun, openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const HOUR = 3_600_000;
const PERIOD = '2026-02';
const REQUEST = { workspaceId: 'ws-1', period: PERIOD, by: 'Ada', note: '' };

test('workspace, period and tenant that are asked for leave the rest out', async () => {
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

test('a row says all that is known of a key', async () => {
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

test('where the clock was set back between two links, a moment is what the last link of its time left, be it run or close', async () => {
  const { connection } = openLedger();
  const close = { ...REQUEST, force: true, settleHours: 48 };
  await publish(connection, [usageRecord('a', 1, PERIOD)], { nowMs: NOON + 9 * HOUR });
  closePeriod(connection, { ...close, nowMs: NOON + 9 * HOUR }, commitClose);
  expect(creditsAt(connection, NOON + HOUR)).toEqual([]);
  await publish(connection, [usageRecord('a', 5, PERIOD)], { nowMs: NOON });

  // The close came before it, whatever its time says.
  expect(creditsAt(connection, NOON + HOUR)).toEqual(['a 1 closed']);
  reopenPeriod(connection, { ...REQUEST, nowMs: NOON + 2 * HOUR });
  expect(creditsAt(connection, NOON + HOUR)).toEqual(['a 1 closed']);
  expect(creditsAt(connection, NOON + 2 * HOUR)).toEqual(['a 5']);
  expect(creditsAt(connection, NOON + 20 * HOUR)).toEqual(['a 5']);
  // Another workspace has a past of its own.
  await publish(connection, [usageRecord('b', 7, PERIOD)], { workspaceId: 'ws-2', nowMs: NOON - 9 * HOUR });
  expect(creditsAt(connection, NOON - HOUR)).toEqual(['b 7']);
});

test('a run that failed is no part of the past', async () => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('a', 1)], { nowMs: NOON });
  await publish(connection, [usageRecord('a', 2)], { nowMs: NOON + 2 * HOUR });
  const { run } = beginRun(connection, { nowMs: NOON + 2 * HOUR });
  failRun(connection, run, { status: 'failed', code: 'x', message: '', pages: 0, records: 0 }, NOON + HOUR);
  expect(creditsAt(connection, NOON + HOUR)).toEqual(['a 1']);
});

test('workspaces have their own past', async () => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('a', 1)], { nowMs: NOON });
  await publish(connection, [usageRecord('a', 9)], { nowMs: NOON + HOUR, workspaceId: 'ws-2' });
  await publish(connection, [usageRecord('a', 2)], { nowMs: NOON + 2 * HOUR });
  const said = usageAsOf(connection, new Date(NOON + HOUR).toISOString());
  expect(said.map((row) => `${row.workspace_id} ${row.credits_used}`)).toEqual(['ws-1 1', 'ws-2 9']);
});

function creditsAt(connection: LedgerConnection, atMs: number): string[] {
  return usageAsOf(connection, new Date(atMs).toISOString()).map(
    (row) => `${row.tenant_id} ${row.credits_used}${row.closed ? ' closed' : ''}`,
  );
}
