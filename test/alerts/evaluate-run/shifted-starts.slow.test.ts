import { expect, test } from 'vitest';
import { createRandom } from '../../long/alert-year/random.ts';
import { DAY_MS, type DayImage, dayWorld, HOUR_MS } from './day-world.ts';

const BEGIN_MS = Date.parse('2026-01-01');
const SHIFTED_MS = Date.parse('2026-03-08');
const END_MS = Date.parse('2026-03-28');
const WORLDS = 50;
const MINUTE_MS = 60_000;

/** What each tenant uses on a day, by its number from the first shifted one on. */
const TENANTS: Record<string, (day: number) => number> = {
  steady: () => 300,
  rises: (day) => (day < 3 ? 300 : 1_100),
  'rises a little': (day) => (day < 1 ? 300 : 560),
  ahead: (day) => (day < -7 ? 300 : 460),
  stops: (day) => (day < 2 ? 300 : 0),
  comes: (day) => (day < 4 ? 0 : 400),
  'goes on as another': (day) => (day < 5 ? 350 : 0),
  'is the other': (day) => (day < 5 ? 0 : 350),
  bursts: (day) => (day === 6 ? 9_000 : 300),
  weekdays: (day) => ([0, 6].includes(new Date(SHIFTED_MS + day * DAY_MS).getUTCDay()) ? 0 : 420),
};
const BUDGETS = [
  { tenant: 'rises a little', credits: 12_000n, at: [50, 80, 100], workspace: null },
  { tenant: 'steady', credits: 9_000n, at: [50, 80, 100], workspace: null },
];

type World = ReturnType<typeof dayWorld>;

/** Plays days of one run at seven; the service has posted the day before by then. */
async function play(world: World, fromMs: number, toMs: number, shiftOf: () => number): Promise<void> {
  for (let dayMs = fromMs; dayMs < toMs; dayMs += DAY_MS) {
    const day = Math.round((dayMs - SHIFTED_MS) / DAY_MS);
    for (const [tenant, uses] of Object.entries(TENANTS)) if (uses(day) > 0) world.post(tenant, dayMs, uses(day));
    if (day === 8) world.post('steady', dayMs, -2_000);
    await world.read(dayMs + 31 * HOUR_MS + shiftOf());
  }
}

const rules = { budgets: BUDGETS };

function toldIn(world: World): string[] {
  return world
    .notifications()
    .map(({ payload: { rule, level, event, tenant_id, created_at } }) =>
      [created_at.slice(0, 10), rule, level, event, tenant_id ?? '*'].join(' '),
    );
}

test('fifty worlds with runs up to a minute earlier or later send the same', { timeout: 240_000 }, async () => {
  const base = dayWorld(rules);
  await play(base, BEGIN_MS, SHIFTED_MS, () => 0);
  const image: DayImage = base.image();
  const toldBy = async (shiftOf: () => number) => {
    const world = dayWorld(rules, {}, image);
    await play(world, SHIFTED_MS, END_MS, shiftOf);
    const told = toldIn(world);
    world.connection.close();
    return told;
  };
  const expected = await toldBy(() => 0);
  const kinds = new Set(expected.map((line) => line.split(' ').slice(1, 3).join(' ')));
  for (const kind of [
    'jump likely',
    'jump happened',
    'drop likely',
    'new_spend likely',
    'budget likely',
    'regression happened',
  ])
    expect([...kinds]).toContain(kind);

  for (let seed = 1; seed <= WORLDS; seed += 1) {
    const random = createRandom(seed);
    expect(await toldBy(() => random.integer(-MINUTE_MS, MINUTE_MS)), `seed ${seed}`).toEqual(expected);
  }
});
