import { expect, test, vi } from 'vitest';
import { findDeadLetters } from '../../src/alerts/outbox/replay.ts';
import { countUndelivered } from '../../src/freshness/workspace-status.ts';
import { usageAsOf } from '../../src/ledger/journal/runs/as-of.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { viewPage } from '../../src/reports/queries/finance-view.ts';
import { usagePage, usageRows } from '../../src/reports/queries/usage.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';

const AT = '2026-03-31T00:00:00.000Z';

test.each([
  ['today', (connection: LedgerDb) => usageRows(connection, { tenantId: 'acme' })],
  ['in the past', (connection: LedgerDb) => usageAsOf(connection, AT, { tenantId: 'acme' })],
  [
    'in one workspace in the past',
    (connection) => usageAsOf(connection, AT, { workspaceId: 'ws-1', tenantId: 'acme' }),
  ],
])('what the ledger holds of one tenant %s is found without reading the others', async (_, query) => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('acme', 10), usageRecord('bolt', 20)]);

  const plan = planOf(connection, query);

  expect(plan.join('\n')).toMatch(/SEARCH u USING .*\(period_key=\? AND tenant_key=\?( AND rowid<\?)?\)/);
  expect(plan.filter((step) => /^SCAN (u|t|e)\b/.test(step))).toEqual([]);
});

test('past figures of one period are found without reading other periods', () => {
  const { connection } = openLedger();
  const plan = planOf(connection, () => usageAsOf(connection, AT, { period: '2026-03' }));
  expect(plan.join('\n')).toMatch(/SEARCH u USING COVERING INDEX usage_entries_by_key \(period_key=\?\)/);
  expect(plan.filter((step) => /^SCAN (u|t|e)\b/.test(step))).toEqual([]);
});

test.each([
  ['counting what is in the outbox', countUndelivered],
  ['listing dead letters', findDeadLetters],
] as const)('%s reads only the notifications that it is about', (_, query) => {
  const { connection } = openLedger();
  const plan = planOf(connection, query);
  expect(plan.length).toBeGreaterThan(0);
  const reads = plan.filter((step) => !/^SCA(LAR SUBQUERY|N CONSTANT ROW)/.test(step));
  const isOwn = /^S\w+ (deliveries|alert_notified) USING (COVERING )?INDEX \w+_(due|pending|dead)\b/;
  expect(reads.filter((step) => !isOwn.test(step))).toEqual([]);
});

/** Returns the plan of every statement that the query prepares. */
function planOf(connection: LedgerDb, query: (connection: LedgerDb) => unknown): string[] {
  const prepare = vi.spyOn(connection, 'prepare');
  query(connection);
  const statements = prepare.mock.calls.map(([sql]) => sql);
  prepare.mockRestore();
  return statements.flatMap((sql) => {
    const parameters = [...sql.matchAll(/[?]|:\w+/g)].map(([name]) => name);
    const named = Object.fromEntries(parameters.filter((name) => name !== '?').map((name) => [name.slice(1), null]));
    const placed = parameters.filter((name) => name === '?').map(() => null);
    const explain = connection.prepare(`EXPLAIN QUERY PLAN ${sql}`);
    return (explain.all(...placed, ...(placed.length > 0 ? [] : [named])) as { detail: string }[]).map(
      ({ detail }) => detail,
    );
  });
}

test('a page of one tenant is found without reading the others, and without asking month by month', async () => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('acme', 10, '2026-02'), usageRecord('acme', 10), usageRecord('bolt', 20)]);
  const after = { workspaceId: 'ws-1', period: '2026-02', tenantId: 'acme' };
  const page = () => usagePage(connection, { tenantId: 'acme' }, { after, limit: 10 });
  expect(planOf(connection, page).filter((step) => /^SCAN (u|t|e)\b/.test(step))).toEqual([]);
  const prepare = vi.spyOn(connection, 'prepare');
  expect(page().map(({ tenant_id: id, period }) => [id, period])).toEqual([['acme', '2026-03']]);
  expect(prepare.mock.calls.filter(([sql]) => sql.includes('JOIN periods'))).toEqual([]);
  prepare.mockRestore();
});

test('a page of a view is computed for no month that has no rows in it', async () => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('acme', 10, '2026-01'), usageRecord('acme', 20, '2026-02')]);
  for (const view of ['margin', 'budgets', 'month_to_date']) {
    const prepare = vi.spyOn(connection, 'prepare');
    expect(viewPage(connection, view, {}, { after: null, limit: 10 }).rows).toEqual([]);
    const read = prepare.mock.calls.filter(([sql]) => sql.includes(`FROM finance_${view}`));
    expect([view, read.length]).toEqual([view, 0]);
    prepare.mockRestore();
  }
});
