import { expect, test } from 'vitest';
import { DAY_MS, type DayImage, type DayWorld, dayWorld, HOUR_MS } from './day-world.ts';

const FROM = Date.UTC(2025, 11, 10);

async function play(world: DayWorld, until: number, uses: (dayMs: number) => number, from = FROM): Promise<void> {
  for (let dayMs = from; dayMs < until; dayMs += DAY_MS) {
    world.post('acme', dayMs, uses(dayMs));
    for (const hour of [8, 16, 23]) await world.read(dayMs + hour * HOUR_MS);
  }
}

/** A world that has used 300 a day until `BURST`; its past is played once. */
const BURST = Date.UTC(2026, 2, 6);
let evenPast: DayImage | undefined;
async function evenWorld(): Promise<DayWorld> {
  if (evenPast === undefined) {
    const world = dayWorld();
    await play(world, BURST, () => 300);
    evenPast = world.image();
  }
  return dayWorld({}, {}, evenPast);
}

test('a burst of three days is not sent', async () => {
  const world = await evenWorld();
  await play(world, Date.UTC(2026, 2, 28), (dayMs) => (dayMs < Date.UTC(2026, 2, 9) ? 900 : 300), BURST);
  expect(world.told()).toEqual([]);
});

test('a burst of thirteen days that has ended keeps no forecast: its alert ends within a week', async () => {
  const world = await evenWorld();
  await play(world, Date.UTC(2026, 2, 28), (dayMs) => (dayMs < Date.UTC(2026, 2, 19) ? 480 : 100), BURST);
  expect(world.told()).toEqual(['jump likely firing acme', 'jump likely resolved acme']);
  const [ended = ''] = world.rows("SELECT at FROM alert_transitions WHERE change = 'resolved'") as string[];
  expect(ended > '2026-03-19' && ended < '2026-03-26').toBe(true);
});

test('a jump that has happened is forecast from its own past, not by a straight line', async () => {
  const world = dayWorld();
  await play(world, Date.UTC(2026, 2, 3), (dayMs) => {
    const front = new Date(dayMs).getUTCDate() <= 2 ? 4_000 : 100;
    return dayMs >= Date.UTC(2026, 2, 1) ? front * 3 : front;
  });
  expect(world.told()).toEqual(['jump happened firing acme']);
  const [first] = world.notifications();
  const forecast = first?.payload.evidence.projection.credits;
  expect(forecast).toBeGreaterThan(30_000);
  expect(forecast).toBeLessThan(34_000);
});

test('a jump posted after its month settled is sent as a jump', async () => {
  const world = await evenWorld();
  await play(world, Date.UTC(2026, 3, 6), () => 300, BURST);
  expect(world.told()).toEqual([]);
  world.state('acme', '2026-03', 30_000n);
  await world.read(Date.UTC(2026, 3, 6, 8));
  expect(world.told()).toEqual(['jump settled firing acme', 'restatement happened firing acme']);
});

test('a comparison with the same month of last year names that month', async () => {
  const world = dayWorld({ baseline: 'same_month_last_year' });
  const months = ['2025-01', '2025-02', '2025-03', '2025-12', '2026-01', '2026-02'];
  const credits = [12_000n, 12_000n, 12_000n, 11_000n, 12_000n, 80_000n];
  for (const [index, month] of months.entries()) world.state('acme', month, credits[index] ?? 0n);
  await world.read(Date.UTC(2026, 2, 9));
  world.state('acme', '2026-03', 24_000n);
  await world.read(Date.UTC(2026, 2, 10));
  const sentence = '24,000 credits in March, limit 18,000. March 2025: 12,000.';
  expect(world.summaries('jump')).toEqual([expect.stringContaining(sentence)]);
});
