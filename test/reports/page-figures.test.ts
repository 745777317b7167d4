import { expect, test } from 'vitest';
import type { LedgerConnection } from '../../src/ledger/file/open.ts';
import { largestMoves, largestTenants, type MonthKey, monthFigures } from '../../src/reports/page/largest.ts';
import { buildRichLedger } from '../ledger/verify/tamper/rich-ledger.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';

/** What the views say of a month, sorted here and cut off at `limit`. */
function byViews(connection: LedgerConnection, { period, workspace_id }: Place, limit: number) {
  const all = (sql: string) => connection.prepare(sql).safeIntegers().all(workspace_id, period) as never[];
  const totals =
    'SELECT tenants, credits_used AS credits FROM finance_period_totals WHERE workspace_id = ? AND period = ?';
  const usage = `SELECT tenant_id AS id, credits_used AS size FROM finance_usage
    WHERE workspace_id = ? AND period = ? AND withdrawn = 0`;
  const moves = `SELECT tenant_id AS id, abs(credits_used - coalesce(previous_credits, 0)) AS size,
      credits_used AS credits, previous_credits AS previous, credits_used - coalesce(previous_credits, 0) AS change
    FROM finance_period_changes WHERE workspace_id = ? AND period = ?`;
  const bySize = (a: Sized, b: Sized) => (a.size === b.size ? (a.id < b.id ? -1 : 1) : a.size < b.size ? 1 : -1);
  const first = (rows: Sized[]) => rows.sort(bySize).slice(0, limit);
  const [{ tenants, credits }] = all(totals) as unknown as [{ tenants: bigint; credits: bigint }];
  return {
    figures: { tenants: Number(tenants), credits },
    largest: first(all(usage)).map(({ id }) => id),
    moves: first(all(moves)).map(({ size: _, id, ...move }) => ({ tenantId: id, ...move })),
  };
}

interface Sized {
  id: string;
  size: bigint;
}
type Place = MonthKey & { period: string; workspace_id: string };

function places(connection: LedgerConnection): Place[] {
  return connection
    .prepare('SELECT period, period_key, closed_seq, workspace_id FROM periods JOIN workspaces USING (workspace_key)')
    .safeIntegers()
    .all() as Place[];
}

test.each([
  ['closed, corrected and open months', buildRichLedger],
  ['many tenants of the same size', manyAlike],
])('the page has the largest and the moves that the views have, of %s', (_, build) => {
  const connection = build();
  const months = places(connection);
  expect(months.length).toBeGreaterThan(1);
  for (const month of months) {
    for (const limit of [1, 2, 3, 20]) {
      const found = {
        figures: monthFigures(connection, month),
        largest: largestTenants(connection, month, limit),
        moves: largestMoves(connection, month, limit),
      };
      expect(found, `${month.workspace_id} ${month.period} ${limit}`).toEqual(byViews(connection, month, limit));
    }
  }
});

function manyAlike(): LedgerConnection {
  const { connection } = openLedger();
  const tenants = Array.from({ length: 30 }, (_, at) => `tenant-${(at * 7) % 30}`);
  publish(connection, [
    ...tenants.map((tenant, at) => usageRecord(tenant, at % 3 === 0 ? 500 : 100, '2026-01')),
    ...tenants.slice(5).map((tenant, at) => usageRecord(tenant, at % 2 === 0 ? 0 : 500, '2026-02')),
  ]);
  return connection;
}
