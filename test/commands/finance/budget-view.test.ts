import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createWorld, FIRST, row, workspaceSettings } from '../world.ts';

/** Views know the time by SQLite's clock, not by a test's. */
const MONTH = new Date().toISOString().slice(0, 7);
const CARD = { name: 'euro', from_period: '2020-01', currency: 'EUR', price_per_credit: '0.10' };
const BUDGETS = [
  { credits: 10_000 },
  { tenant: 'a*', credits: 2000 },
  { tenant: 'acme', amount: '400.00', currency: 'EUR' },
  { tenant: 'w[x]?', credits: 50 },
  { tenant: 'wxy', amount: '10.00', currency: 'GBP' },
];

test('finance_budgets has the use of each budget by the configuration of the last run: an exact id before a pattern', async () => {
  const usage = [row('acme', MONTH, 3000), row('axis', MONTH, 500), row('w[x]?', MONTH, 25), row('wxy', MONTH, 7)];
  const world = await createWorld({ ...FIRST, usage });
  world.clock.nowMs = Date.now();
  world.clock.serviceMs = Date.now();
  const configure = (budgets: object[]) =>
    world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], budgets });
  const read = () =>
    world.query(
      `SELECT tenant_id, credits_used, budget_credits, used_minor, budget_minor, currency, used_percent
       FROM finance_budgets WHERE workspace_id = 'ws-1' AND period = '${MONTH}' ORDER BY tenant_id`,
    );
  configure(BUDGETS);
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [CARD] }));
  await world.run('migrate');
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  expect((await world.run('sync')).code).toBe(0);

  const ofCredits = { used_minor: null, budget_minor: null, currency: null };
  expect(read()).toEqual([
    { tenant_id: null, credits_used: 3532, budget_credits: 10_000, ...ofCredits, used_percent: 35.32 },
    {
      ...{ tenant_id: 'acme', credits_used: 3000, budget_credits: null },
      ...{ used_minor: 30_000, budget_minor: 40_000, currency: 'EUR', used_percent: 75 },
    },
    { tenant_id: 'axis', credits_used: 500, budget_credits: 2000, ...ofCredits, used_percent: 25 },
    { tenant_id: 'w[x]?', credits_used: 25, budget_credits: 50, ...ofCredits, used_percent: 50 },
    {
      ...{ tenant_id: 'wxy', credits_used: 7, budget_credits: null },
      // No card prices it in that currency.
      ...{ used_minor: null, budget_minor: 1000, currency: 'GBP', used_percent: null },
    },
  ]);
  const [{ projection } = {}, ...tenants] = world.query(
    'SELECT projection FROM finance_budgets ORDER BY tenant_id',
  ) as {
    projection?: number | null;
  }[];
  const sum = tenants.every((one) => one.projection === null)
    ? null
    : tenants.reduce((total, one) => total + (one.projection ?? 0), 0);
  expect(projection).toBe(sum);
  configure([{ tenant: 'wxy', credits: 10 }]);
  expect((await world.run('sync')).code).toBe(0);
  expect(read()).toEqual([{ tenant_id: 'wxy', credits_used: 7, budget_credits: 10, ...ofCredits, used_percent: 70 }]);
});
