import { expect, test, vi } from 'vitest';
import { nearest } from '../../src/core/text/closest.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { countTenants, namedTenants, nearTenants } from '../../src/reports/queries/tenants.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';

// cspell:ignore amce globexcorp ucstomer umbrela

const MANY = 100_000;

/** Two workspaces: one with these tenants, and one with many. */
async function ledgerOf(...ids: string[]): Promise<LedgerDb> {
  const { connection } = openLedger();
  const records = (list: readonly string[]) => list.map((id) => usageRecord(id, 10));
  await publish(connection, records(ids), { workspaceId: 'ws-1' });
  await publish(connection, records(['customer-0000000']), { workspaceId: 'ws-2' });
  connection
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO tenants (workspace_key, tenant_id)
       SELECT workspace_key, printf('customer-%07d', i) FROM workspaces, n WHERE workspace_id = 'ws-2'`,
    )
    .run(MANY);
  return connection;
}

/** Counts the rows that its statements return. */
function rowsRead(connection: LedgerDb, query: () => unknown): number {
  let rows = 0;
  const { prepare } = connection;
  const spy = vi.spyOn(connection, 'prepare').mockImplementation((sql: string) => {
    const statement = prepare.call(connection, sql);
    const all = statement.all.bind(statement) as (...values: unknown[]) => unknown[];
    statement.all = (...values: unknown[]) => {
      const found = all(...values);
      rows += found.length;
      return found;
    };
    return statement;
  });
  query();
  spy.mockRestore();
  return rows;
}

test('similar tenants share the letters in any case, or begin with them', async () => {
  const connection = await ledgerOf('acme', 'Globex Corp', 'initech-europe', '株式会社山田', 'hooli');
  const meant = (word: string, workspaceId?: string) =>
    nearTenants(connection, word, workspaceId).map(({ tenant_id }) => tenant_id);
  expect(meant('amce')).toEqual(['acme']);
  expect(meant('cme')).toEqual(['acme']);
  expect(meant('ACME')).toEqual(['acme']);
  expect(meant('globexcorp')).toEqual(['Globex Corp']);
  expect(meant('initech')).toEqual(['initech-europe']);
  expect(meant('株式会社山口')).toEqual(['株式会社山田']);
  expect(meant('something else')).toEqual([]);
  expect(meant('')).toEqual([]);
  expect(meant('hooli', 'ws-2')).toEqual([]);
  expect(meant('x'.repeat(5000))).toEqual([]);
});

test('the right one of 100,000 tenants is found by comparing few', async () => {
  const connection = await ledgerOf('acme');
  for (const [word, wanted] of [
    ['customer-00543211', 'customer-0054321'],
    ['customer-0054321x', 'customer-0054321'],
    ['Customer-0054321', 'customer-0054321'],
    ['ucstomer-0054321', 'customer-0054321'],
  ] as const) {
    // Its neighbours in the index are equally similar.
    const meant = (): string[] => nearTenants(connection, word, undefined).map(({ tenant_id }) => tenant_id);
    expect(meant(), word).toContain(wanted);
    expect(meant()).toHaveLength(3);
    expect(rowsRead(connection, meant)).toBeLessThan(5_000);
  }
});

test('a tenant is found by its name', async () => {
  const connection = await ledgerOf('t-4711');
  connection
    .prepare(
      `INSERT INTO tenant_names (tenant_key, after_seq, display_name, labels, recorded_at)
       SELECT tenant_key, 1, 'Umbrella Inc.', '{}', '2026-03-01' FROM tenants WHERE tenant_id = 't-4711'`,
    )
    .run();
  expect(nearTenants(connection, 'umbrela inc', undefined)).toEqual([
    { workspace_id: 'ws-1', tenant_id: 't-4711', display_name: 'Umbrella Inc.' },
  ]);
});

test('a list limited to three tenants reads three', async () => {
  const connection = await ledgerOf('acme');
  let rows: ReturnType<typeof namedTenants> = [];
  const read = rowsRead(connection, () => {
    rows = namedTenants(connection, undefined, 3);
  });
  expect(rows.map(({ tenant_id }) => tenant_id)).toEqual(['acme', 'customer-0000000', 'customer-0000001']);
  expect(read).toBe(3);
  // No sort is needed: rows come in the order of an index.
  const plan = connection
    .prepare('EXPLAIN QUERY PLAN SELECT * FROM finance_tenants ORDER BY workspace_id, tenant_id LIMIT 3')
    .all() as { parent: number; detail: string }[];
  const outer = plan.filter(({ parent }) => parent === 0).map(({ detail }) => detail);
  expect(outer.join('\n')).not.toMatch(/TEMP B-TREE|SCAN t\b/);
  expect(countTenants(connection, undefined)).toBe(MANY + 2);
  expect(countTenants(connection, 'ws-1')).toBe(1);
});

test('a word without letters matches nothing, and fewer edits rank higher', () => {
  expect(nearest('---', ['***', 'a'], 3)).toEqual([]);
  expect(nearest('statement', ['statements', 'statement', 'state'], 3)).toEqual(['statement', 'statements']);
});
