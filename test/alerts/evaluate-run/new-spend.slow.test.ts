import { expect, test } from 'vitest';
import { DAY_MS, dayWorld, HOUR_MS } from './day-world.ts';
import { CHANGED, FIRST_DAY, play } from './notified-newcomers.ts';

test('a new tenant is sent at the floor and again as it grows, with the forecast of its month', async () => {
  const world = dayWorld();
  for (let dayMs = Date.UTC(2026, 0, 20); dayMs < Date.UTC(2026, 3, 1); dayMs += DAY_MS) {
    world.post('old', dayMs, 300);
    if (dayMs >= Date.UTC(2026, 2, 11)) world.post('fresh', dayMs, dayMs < Date.UTC(2026, 2, 16) ? 400 : 2_000_000);
    await world.read(dayMs + 12 * HOUR_MS);
  }
  const figures = world.notifications().map(({ payload: { credits, evidence } }) => {
    return `${credits.current} ${evidence.projection.credits}`;
  });
  expect(world.told().every((line) => /^new_spend happened (firing|escalated) fresh$/.test(line))).toBe(true);
  // At 400 a day the month comes to 8,400, and that it goes on like this is no news. It comes to 32,002,000: a rate of one day counts half.
  expect(figures).toEqual(['1200 8600', '2002000 17505100']);
});

test('a new tenant that was sent before another one stopped turns out to be its new id', async () => {
  const world = await play({ daily: 3_000 });
  const last = world.told().length - 1;
  expect(
    world
      .told()
      .slice(0, last)
      .every((line) => line.startsWith('new_spend happened')),
  ).toBe(true);
  expect(world.told()[last]).toBe('new_spend likely firing initech');
  const words = world.summaries('new_spend')[last];
  expect(words).toMatch(
    /^initech \(ws-1\): probably the new id of globex, [\d,]+ credits in March\. globex: 3,000 a day/,
  );
  expect(words).not.toContain('Correct');
});

test('a stop waits a week for a new tenant that has not reached its floor', async () => {
  const slow = await play({ daily: 150 });
  expect(slow.told()).toEqual(['new_spend likely firing initech']);
  const slower = await play({ daily: 60, untilMs: Date.UTC(2026, 2, 30) });
  expect(slower.told()).toEqual(['drop likely firing globex', 'new_spend happened firing initech']);
  const [at] = slower.rows("SELECT substr(at, 1, 10) FROM alert_transitions WHERE change = 'fired'") as string[];
  expect(at).toBe('2026-03-20');
});

test('a renamed tenant is one alert for all months in the window, and no month of it is a drop', async () => {
  const world = await play({ untilMs: Date.UTC(2026, 5, 10) });
  expect(world.told().filter((line) => !line.includes('resolved'))).toEqual(['new_spend likely firing initech']);
});

test('a new tenant is the new id of only one of two that stopped', async () => {
  const world = await play({
    tellsOfThePast: true,
    beforeDay: ({ post }, dayMs) => {
      if (dayMs < CHANGED) post('hooli', dayMs, 330);
    },
  });
  expect(world.told().filter((line) => line.startsWith('drop'))).toHaveLength(1);
  expect(world.told().filter((line) => line.startsWith('new_spend'))).toHaveLength(1);
});

test.each([
  ['at once', 0],
  ['one after the other', 1],
])(
  'of two that stop %s the one goes on as a newcomer that used most nearly as much, and the other is told',
  async (_, days) => {
    const world = dayWorld({}, { lookbackPeriods: 2 });
    const laterMs = CHANGED + days * DAY_MS;
    for (let dayMs = FIRST_DAY; dayMs < Date.UTC(2026, 2, 24); dayMs += DAY_MS) {
      world.post('steady', dayMs, 200);
      if (dayMs < CHANGED) world.post('farther', dayMs, 330);
      if (dayMs < laterMs) world.post('nearer', dayMs, 410);
      else world.post('newcomer', dayMs, 420);
      await world.read(dayMs + DAY_MS - HOUR_MS);
    }
    const told = world.told().filter((line) => !line.startsWith('new_spend happened'));
    expect(told.filter((line) => line.startsWith('drop'))).toEqual(['drop likely firing farther']);
    expect(world.summaries('new_spend').at(-1)).toContain('newcomer (ws-1): probably the new id of nearer');
  },
);
