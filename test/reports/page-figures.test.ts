import { expect, test } from 'vitest';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import {
  creditsByDay,
  largestMoves,
  largestTenants,
  type MonthKey,
  monthFigures,
} from '../../src/reports/page/page-data.ts';
import { buildRichLedger } from '../ledger/audit/verify/tamper/rich-ledger.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';

/** Returns a month's rows from the views, sorted here and cut off at `limit`. */
function byViews(connection: LedgerDb, { period, workspace_id }: Place, limit: number) {
  const all = <Row>(sql: string) => connection.prepare(sql).safeIntegers().all(workspace_id, period) as Row[];
  const keys = new Map(
    connection
      .prepare('SELECT tenant_id, tenant_key FROM tenants JOIN workspaces USING (workspace_key) WHERE workspace_id = ?')
      .raw()
      .all(workspace_id) as [string, number][],
  );
  const first = <Row extends Sized>(rows: Row[]) =>
    rows.sort((a, b) => Number(b.size - a.size) || (keys.get(a.id) ?? 0) - (keys.get(b.id) ?? 0)).slice(0, limit);
  const where = 'WHERE workspace_id = ? AND period = ?';
  const [totals] = all<{ tenants: bigint; credits: bigint }>(
    `SELECT tenants, credits_used AS credits FROM finance_period_totals ${where}`,
  );
  const usage = all<Sized>(
    `SELECT tenant_id AS id, credits_used AS size FROM finance_usage ${where} AND withdrawn = 0`,
  );
  const moves = all<Sized>(
    `SELECT tenant_id AS id, abs(credits_used - coalesce(previous_credits, 0)) AS size,
       credits_used AS credits, previous_credits AS previous, credits_used - coalesce(previous_credits, 0) AS change
     FROM finance_period_changes ${where}`,
  );
  const days = new Map<string, bigint>();
  for (const { at, delta } of all<{ at: string; delta: bigint }>(
    `SELECT recorded_at AS at, credits_delta AS delta FROM finance_history ${where}`,
  )) {
    if (at < `${period}-32`) days.set(at.slice(0, 10), (days.get(at.slice(0, 10)) ?? 0n) + delta);
  }
  return {
    figures: { tenants: Number(totals?.tenants), credits: totals?.credits },
    largest: first(usage).map(({ id }) => id),
    moves: first(moves).map(({ size: _, id, ...move }) => ({ tenantId: id, ...move })),
    days: [...days].sort(([a], [b]) => (a < b ? -1 : 1)).map(([day, credits]) => ({ day, credits })),
  };
}

interface Sized {
  id: string;
  size: bigint;
}
type Place = MonthKey & { period: string; workspace_id: string };

function places(connection: LedgerDb): Place[] {
  return connection
    .prepare('SELECT period, period_key, closed_seq, workspace_id FROM periods JOIN workspaces USING (workspace_key)')
    .safeIntegers()
    .all() as Place[];
}

test.each([
  ['closed, corrected and open months', buildRichLedger],
  ['many tenants of the same size', manyAlike],
])('the page has the largest and the moves that the views have, of %s', async (_, build) => {
  const connection = await build();
  const months = places(connection);
  expect(months.length).toBeGreaterThan(1);
  for (const month of months) {
    for (const limit of [1, 2, 3, 20]) {
      const found = {
        figures: monthFigures(connection, month),
        largest: largestTenants(connection, month, limit),
        moves: largestMoves(connection, month, limit),
        days: creditsByDay(connection, month),
      };
      expect(found, `${month.workspace_id} ${month.period} ${limit}`).toEqual(byViews(connection, month, limit));
    }
  }
});

async function manyAlike(): Promise<LedgerDb> {
  const { connection } = openLedger();
  const tenants = Array.from({ length: 30 }, (_, at) => `tenant-${(at * 7) % 30}`);
  await publish(connection, [
    ...tenants.map((tenant, at) => usageRecord(tenant, at % 3 === 0 ? 500 : 100, '2026-01')),
    ...tenants.slice(5).map((tenant, at) => usageRecord(tenant, at % 2 === 0 ? 0 : 500, '2026-02')),
  ]);
  return connection;
}
