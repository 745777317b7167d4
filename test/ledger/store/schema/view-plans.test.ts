import { expect, test } from 'vitest';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';

/** The tables that grow with usage; a query of one period or tenant must never read all of them. */
const LARGE = /^SCAN (u|e|v|x|t|f|g|n|tenant_usage|closed_usage|usage_entries)\b/;

test.each([
  "SELECT * FROM finance_usage WHERE workspace_id = 'ws-1' AND period = '2026-03'",
  "SELECT * FROM finance_usage WHERE period = '2026-03'",
  "SELECT sum(credits_used) FROM finance_usage WHERE workspace_id = 'ws-1' AND period = '2026-03'",
  "SELECT * FROM finance_usage WHERE workspace_id = 'ws-1' AND tenant_id = 'acme'",
  "SELECT * FROM finance_usage WHERE tenant_id = 'acme'",
  'SELECT * FROM finance_period_totals',
  "SELECT * FROM finance_period_totals WHERE period = '2026-03'",
  "SELECT * FROM finance_period_changes WHERE workspace_id = 'ws-1' AND period = '2026-03'",
  "SELECT * FROM finance_period_changes WHERE period = '2026-03'",
  "SELECT * FROM finance_history WHERE workspace_id = 'ws-1' AND period = '2026-03'",
  "SELECT * FROM finance_history WHERE workspace_id = 'ws-1' AND tenant_id = 'acme'",
  "SELECT * FROM finance_month_to_date WHERE period = '2026-03'",
  "SELECT * FROM finance_month_to_date WHERE tenant_id = 'acme'",
  "SELECT * FROM finance_daily WHERE period = '2026-03'",
  "SELECT day, sum(credits_increase) FROM finance_daily WHERE workspace_id = 'ws-1' AND period = '2026-03' GROUP BY day",
  "SELECT * FROM finance_daily WHERE tenant_id = 'acme'",
  'SELECT * FROM finance_freshness',
])('%s does not scan a large table', async (sql) => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('acme', 10), usageRecord('bolt', 20)]);
  const plan = connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[];
  expect(plan.map(({ detail }) => detail).filter((detail) => LARGE.test(detail))).toEqual([]);
});
