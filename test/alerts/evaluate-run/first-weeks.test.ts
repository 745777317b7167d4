import { expect, test } from 'vitest';
import { DAY_MS, dayWorld, HOUR_MS } from './day-world.ts';

/** The workspace is read from 11 January on; what a tenant uses on a day. */
async function play(uses: Record<string, (dayMs: number) => number>, until: number) {
  const world = dayWorld();
  for (let dayMs = Date.UTC(2026, 0, 1); dayMs < until; dayMs += DAY_MS) {
    for (const [tenant, of] of Object.entries(uses)) world.post(tenant, dayMs, of(dayMs));
    if (dayMs < Date.UTC(2026, 0, 11)) continue;
    for (const hour of [8, 20]) await world.read(dayMs + hour * HOUR_MS);
  }
  return world;
}

const RISES = Date.UTC(2026, 1, 8);

test('a rise in the second month of a workspace is sent as a warning with its basis', async () => {
  const world = await play(
    {
      hundredfold: (dayMs) => (dayMs < RISES ? 40 : 4_000),
      even: () => 300,
      'front-loads': (dayMs) => (new Date(dayMs).getUTCDate() < 3 ? 4_000 : 100),
      'once a month': (dayMs) => (new Date(dayMs).getUTCDate() === 3 ? 9_000 : 0),
    },
    Date.UTC(2026, 1, 20),
  );
  expect(world.told().filter((line) => line.includes('firing'))).toEqual(['jump likely firing hundredfold']);
  expect(world.rows("SELECT severity || ' ' || substr(first_fired_at, 1, 10) FROM alerts")).toEqual([
    'warning 2026-02-10',
  ]);
  expect(world.summaries('jump')[0]).toContain(
    'The limit follows from the first 20 days of readings, with 40 credits a day.',
  );
});

test('a workspace that was first read in the last days of a month is judged after two weeks', async () => {
  const world = dayWorld();
  for (let dayMs = Date.UTC(2026, 0, 27); dayMs < Date.UTC(2026, 1, 20); dayMs += DAY_MS) {
    world.post('acme', dayMs, dayMs < Date.UTC(2026, 1, 9) ? 100 : 5_000);
    await world.read(dayMs + 8 * HOUR_MS);
    if (dayMs < Date.UTC(2026, 1, 10)) expect(world.told()).toEqual([]);
  }
  expect(world.told()).toEqual(['jump likely firing acme']);
});
