import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { notifications } from '../../support/messages.ts';
import { createWorld, FIRST, row, type World, workspaceSettings } from '../world.ts';

const DAY_MS = 86_400_000;
const DAYS = [
  ...['2025-12-31', '2026-01-06', '2026-01-12', '2026-01-18', '2026-01-22', '2026-01-26'],
  ...['2026-02-03', '2026-02-06', '2026-02-12', '2026-02-13', '2026-02-18', '2026-02-22', '2026-02-23'],
];

it('tells each step of a budget and what a month is expected to use once a period, with the day on which it is used up', {
  timeout: 120_000,
}, async () => {
  const world = await createWorld({ ...FIRST, usage: [row('steady', '2025-11', 300), row('spender', '2025-11', 300)] });
  world.configure({
    workspaces: [workspaceSettings(world.sandbox, FIRST)],
    budgets: [
      { tenant: 'spend*', credits: 30_000 },
      { credits: 10_000_000, at: [90] },
    ],
  });
  for (const day of DAYS) await runAtStartOf(world, day);

  const forecast = 'February forecast 3\\d,\\d00 to [45]\\d,\\d00 credits, budget 30,000\\.';
  const usedUp = 'Used up around 21 February.';
  expect(budgetsTold(world)).toEqual([
    // January stays below its budget, and so tells of two steps.
    ['2026-01', '2026-01-18', expect.stringContaining('54.4% of its budget of 30,000.')],
    ['2026-01', '2026-01-26', expect.stringContaining('80% of its budget of 30,000.')],
    // What it is expected to use would be told after a day of it; by then the first step has been reached.
    [
      '2026-02',
      '2026-02-12',
      expect.stringMatching(new RegExp(`${forecast}.* 53\\.2% of its budget of 30,000\\. ${usedUp}`)),
    ],
    [
      '2026-02',
      '2026-02-18',
      expect.stringMatching(new RegExp(`${forecast}.* 82\\.2% of its budget of 30,000\\. ${usedUp}`)),
    ],
    ['2026-02', '2026-02-22', expect.stringContaining('101.5% of its budget of 30,000')],
  ]);
  expect(world.query("SELECT severity FROM finance_alerts WHERE rule = 'budget' AND period = '2026-02'")).toEqual([
    { severity: 'critical' },
  ]);
});

it('counts a budget in money by the rate card of the tenant, its steps too, and leaves alone who has no card in that currency', {
  timeout: 120_000,
}, async () => {
  const world = await createWorld({ ...FIRST, usage: [row('steady', '2025-11', 300), row('spender', '2025-11', 300)] });
  // Half the price from 10,000 credits on: the last ones are cheaper than the first.
  const graduated = [{ up_to: 10_000, price_per_credit: '0.004' }, { price_per_credit: '0.002' }];
  const card = { name: 'list', currency: 'EUR', from_period: '2025-01', tenant: 'spend*', graduated };
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [card] }));
  world.configure({
    workspaces: [workspaceSettings(world.sandbox, FIRST)],
    budgets: [
      { tenant: 'spend*', amount: '80.00', currency: 'EUR' },
      { tenant: 'steady', amount: '0.01', currency: 'EUR' },
    ],
  });
  await world.run('sync');
  expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).code).toBe(0);
  for (const day of DAYS) await runAtStartOf(world, day);

  expect(budgetsTold(world).filter(([period = '']) => period > '2026')).toEqual([
    // Half of the money is spent by 10,000 of the 29,998 credits that cost all of it.
    [
      '2026-01',
      '2026-01-12',
      expect.stringContaining(': 10,560 credits in January for 41.12 EUR, 51.4% of its budget of 80.00 EUR.'),
    ],
    [
      '2026-01',
      '2026-01-26',
      expect.stringContaining(': 24,000 credits in January for 68.00 EUR, 85% of its budget of 80.00 EUR.'),
    ],
    [
      '2026-02',
      '2026-02-12',
      expect.stringMatching(
        /, budget for 29,998 credits\. 15,950 so far for 51\.90 EUR, 64\.9% of its budget of 80\.00 EUR\. Used up around 21 February/,
      ),
    ],
    ['2026-02', '2026-02-18', expect.stringContaining(' for 69.30 EUR, 86.6% of its budget of 80.00')],
    [
      '2026-02',
      '2026-02-22',
      expect.stringContaining(': 30,450 credits in February for 80.90 EUR, 101.1% of its budget of 80.00 EUR.'),
    ],
  ]);
});

/** One tenant uses 960 a day in January and 1,450 in February, the other one 960. */
async function runAtStartOf(world: World, day: string): Promise<void> {
  const upstream = world.sandbox.workspace(FIRST.id);
  const nowMs = Date.parse(day);
  world.clock.nowMs = nowMs;
  world.clock.serviceMs = nowMs;
  for (const month of ['2025-12', '2026-01', '2026-02']) {
    const endMs = Math.min(nowMs, Date.parse(`${month}-01`) + (month === '2026-02' ? 28 : 31) * DAY_MS);
    const days = (endMs - Date.parse(`${month}-01`)) / DAY_MS;
    if (days <= 0) continue;
    const rate = month === '2026-02' ? 1_450 : 960;
    upstream.set({ tenantId: 'spender', period: month, credits: days * rate, requests: days });
    upstream.set({ tenantId: 'steady', period: month, credits: days * 960, requests: days });
  }
  await world.run('sync');
}

function budgetsTold(world: World): string[][] {
  return notifications(world.ledgerPath)
    .map(({ payload }) => payload)
    .filter(({ rule, type }) => rule === 'budget' && type !== 'alert.resolved')
    .map(({ period, created_at, summary }) => [period, created_at.slice(0, 10), summary]);
}
