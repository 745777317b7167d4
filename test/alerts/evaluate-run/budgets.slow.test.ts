import { expect, test } from 'vitest';
import { DAY_MS, type DayWorld, dayWorld, HOUR_MS } from './day-world.ts';

const FROM = Date.UTC(2026, 0, 10);
const UNTIL = Date.UTC(2026, 3, 4);

/** Two readings a day; what a tenant uses depends on the day of the month, 1 to 31, and on the month. */
async function play(world: DayWorld, uses: (day: number, month: number) => number): Promise<void> {
  for (let dayMs = FROM; dayMs < UNTIL; dayMs += DAY_MS) {
    const at = new Date(dayMs);
    world.post('acme-1', dayMs, uses(at.getUTCDate(), at.getUTCMonth() + 1));
    for (const hour of [8, 20]) await world.read(dayMs + hour * HOUR_MS);
  }
}

function budgetsTold(world: DayWorld, period: string): string[] {
  const told = world.notifications().map(({ payload }) => payload);
  return told
    .filter((each) => each.rule === 'budget' && each.period === period)
    .map(({ created_at, state, credits, threshold, evidence: { at_stake_credits, projection } }) => {
      const likely = projection?.credits ?? 'unsaid';
      const over = `${credits.current} of ${threshold}, over it ${at_stake_credits}`;
      return `${created_at.slice(5, 10)} ${state} ${over}, likely ${likely}`;
    });
}

const BUDGETS = [
  { tenant: 'acme-*', credits: 900_000n, at: [50, 80, 100] },
  { tenant: 'acme-1', credits: 24_000n, at: [50, 80, 100] },
];

test('a tenant that front-loads and stays below its budget is sent its steps and no forecast', async () => {
  const world = dayWorld({ budgets: BUDGETS });
  await play(world, (day) => (day === 1 ? 15_000 : 200));
  expect(budgetsTold(world, '2026-03')).toEqual([
    '03-01 firing 15000 of 24000, over it 0, likely unsaid',
    '03-22 firing 19200 of 24000, over it 0, likely unsaid',
    '04-03 resolved 21000 of 24000, over it 0, likely unsaid',
  ]);
});

test('a tenant that reaches nine tenths of its budget on uneven days is sent the steps only', async () => {
  const world = dayWorld({ budgets: [{ tenant: 'acme-1', credits: 24_000n, at: [100] }] });
  await play(world, (day) => (day % 10 < 4 ? 1_400 : 300));
  expect(budgetsTold(world, '2026-02')).toEqual([]);
  expect(budgetsTold(world, '2026-03')).toEqual([]);
});

test('a forecast above the budget is sent once after a day, then each step, then each multiple beyond', async () => {
  const world = dayWorld({ budgets: [{ tenant: 'acme-1', credits: 20_000n, at: [80, 100] }] });
  await play(world, (_, month) => (month === 3 ? 1_500 : 600));
  expect(budgetsTold(world, '2026-02')).toEqual([
    '02-27 firing 16200 of 20000, over it 0, likely unsaid',
    '03-03 resolved 16800 of 20000, over it 0, likely unsaid',
  ]);
  expect(budgetsTold(world, '2026-03')).toEqual([
    '03-07 firing 10500 of 20000, over it 27500, likely 47500',
    '03-11 firing 16500 of 20000, over it 27500, likely 47500',
    '03-14 firing 21000 of 20000, over it 1000, likely unsaid',
    '03-20 firing 30000 of 20000, over it 10000, likely unsaid',
    '03-27 firing 40500 of 20000, over it 20500, likely unsaid',
  ]);
});
