import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { createWorld, FIRST, NOON, row, USAGE, type World, workspaceSettings } from '../../commands/world.ts';

const CARD = {
  ...{ name: 'standard', from_period: '2025-12', currency: 'EUR', discount_percent: '10', minimum: '20' },
  graduated: [{ up_to: 500, price_per_credit: '0.000125' }, { price_per_credit: '0.0125' }],
};

/** Creates a ledger with rows in every view: prices, names, a manual line, a close, a correction, an alert. */
export async function createFull(): Promise<World> {
  const world = await createWorld({ ...FIRST, usage: [...USAGE, row('=1+1', '2026-02', 0)] });
  world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], statement: { number: 'R-{seq}' } });
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [CARD], costs: [CARD] }));
  expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).code).toBe(0);
  await world.run('sync');
  writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,display_name,region\nacme,=Acme & Sons,north\n');
  expect((await world.run('tenants', 'import', 'names.csv')).code).toBe(0);
  world.clock.nowMs = NOON + 13 * 3_600_000;
  await world.run('sync');
  const line = ['lines', 'add', '--tenant', 'acme', '--currency', 'EUR', '--reason', '=1+1', '--by', 'Ada'];
  expect((await world.run(...line, '--period', '2025-12', '--amount', '-12.50')).code).toBe(0);
  expect((await world.run('close', '2025-12', '--by', 'Ada', '--note', 'invoices')).code).toBe(0);
  writeFileSync(join(world.folder, 'invoices.csv'), 'tenant_id,net,number\nacme,1.00,R-1\n');
  const record = [
    '--amount-column',
    'net',
    '--currency',
    'EUR',
    '--invoice-column',
    'number',
    '--no-service',
    '--record',
  ];
  expect((await world.run('reconcile', 'invoices.csv', '--period', '2025-12', ...record)).code).toBe(4);
  expect((await world.run('lines', 'revoke', '1', '--reason', 'a slip')).code).toBe(0);
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2025-12', credits: 999, requests: 9 });
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 90_000, requests: 10 });
  await world.run('sync');
  notSentOn(world.ledgerPath);
  return world;
}

/** Marks an entry as refused by its outlet's receiver. */
function notSentOn(ledgerPath: string): void {
  const connection = new Database(ledgerPath);
  connection.exec(`
    INSERT INTO outlets (name, receiver, from_period, begun_at, begun_by, cursor, changed_at)
      VALUES ('billing', 'webhook credits', '2025-12', '2026-02-20T12:00:00.000Z', 'Ada', 1, '2026-02-20T12:00:00.000Z');
    INSERT INTO outlet_events (outlet, entry_id, state, reason, since)
      SELECT 'billing', min(entry_id), 'refused', '=1+1', '2026-02-20T12:00:00.000Z' FROM usage_entries;`);
  connection.close();
}

/** Views without rows in this ledger, because the machine's clock decides which month is open. */
export const OF_OPEN_MONTHS = ['finance_budgets', 'finance_month_to_date'];
