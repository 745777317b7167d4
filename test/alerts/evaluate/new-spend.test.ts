import { expect, test } from 'vitest';
import { DAY_MS, dayWorld, HOUR_MS } from './day-world.ts';

test('a newcomer is told at the floor and again as it grows, with what its month comes to', async () => {
  const world = dayWorld();
  for (let dayMs = Date.UTC(2026, 0, 20); dayMs < Date.UTC(2026, 3, 1); dayMs += DAY_MS) {
    world.post('old', dayMs, 300);
    if (dayMs >= Date.UTC(2026, 2, 11)) world.post('fresh', dayMs, dayMs < Date.UTC(2026, 2, 16) ? 400 : 2_000_000);
    await world.read(dayMs + 12 * HOUR_MS);
  }
  const figures =
    world.rows(`SELECT (payload ->> '$.credits.current') || ' ' || (payload ->> '$.evidence.projection.credits')
    FROM outbox ORDER BY rowid`);
  expect(world.told().every((line) => /^new_spend happened (firing|escalated) fresh$/.test(line))).toBe(true);
  // At 400 a day the month comes to 8,400, and that it goes on like this is no news; in the end it comes to 32,002,000.
  expect(figures).toEqual(['1200 8600', '2002000 7173833', '6002000 16130375']);
});
