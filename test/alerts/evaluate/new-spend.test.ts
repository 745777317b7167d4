import { expect, test } from 'vitest';
import { addSilence } from '../../../src/alerts/notify/actions.ts';
import { DAY_MS, type DayImage, dayWorld, HOUR_MS } from './day-world.ts';

test('a newcomer is told at the floor and again as it grows, with what its month comes to', async () => {
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

const FIRST_DAY = Date.UTC(2026, 0, 30);
const CHANGED = Date.UTC(2026, 2, 11);
/** Nothing changes earlier in any story. */
const FIRST_CHANGE = CHANGED - 4 * DAY_MS;
let usualPast: DayImage | undefined;

interface Story {
  /** Credits a day of the old id and of the new one. */
  daily?: number;
  newDaily?: number;
  /** The first day without the old id, and the first day of the new one. */
  stopsMs?: number;
  beginsMs?: number;
  /** The old id is used again from then on. */
  returnsMs?: number;
  untilMs?: number;
  beforeDay?: (world: ReturnType<typeof dayWorld>, dayMs: number) => void;
  /** Whether that is done before anything changes, too. */
  tellsOfThePast?: boolean;
}

/** `globex` uses some credits every day and then `initech` does; beside them `steady`. Two readings a day. */
async function play(story: Story) {
  const { daily = 330, newDaily = daily, stopsMs = CHANGED, beginsMs = CHANGED, beforeDay, tellsOfThePast } = story;
  const { returnsMs = Number.POSITIVE_INFINITY, untilMs = Date.UTC(2026, 2, 24) } = story;
  // As long as nothing has changed, one past is that of all stories.
  const isUsual = daily === 330 && !tellsOfThePast;
  const known = isUsual ? usualPast : undefined;
  const world = dayWorld({}, { lookbackPeriods: 2 }, known);
  for (let dayMs = known === undefined ? FIRST_DAY : FIRST_CHANGE; dayMs < untilMs; dayMs += DAY_MS) {
    if (isUsual && dayMs === FIRST_CHANGE) usualPast ??= world.image();
    beforeDay?.(world, dayMs);
    for (const hour of [10, 22]) {
      world.post('steady', dayMs, 100);
      if (dayMs < stopsMs || dayMs >= returnsMs) world.post('globex', dayMs, daily / 2);
      if (dayMs >= beginsMs) world.post('initech', dayMs, newDaily / 2);
      await world.read(dayMs + hour * HOUR_MS);
    }
  }
  return world;
}

test('a tenant whose id was changed is told as one alert that names both', async () => {
  const world = await play({});
  expect(world.told()).toEqual(['new_spend likely firing initech']);
  expect(world.summaries('new_spend')[0]).toMatch(
    /^ws-1: initech is probably the new id of globex, which used 330 credits a day and has used nothing since 10 March\. initech has used 330 a day since it began: 1,155 credits in March, none in February\. Forecast for March: [\d,]+ to [\d,]+ \(day 14 of 31\)\.$/,
  );
  expect(
    world.rows(
      "SELECT silent_because LIKE 'inhibited:alert_%' FROM alert_transitions t JOIN alerts a USING (alert_key) WHERE a.rule = 'drop' AND t.change = 'fired'",
    ),
  ).toEqual([1]);
});

test('a newcomer that was told before the other is missed turns out to be its new id', async () => {
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
  expect(words).toMatch(/^ws-1: initech is probably the new id of globex, which used 3,000 credits a day/);
  expect(words).not.toContain('correction');
});

test('a stop waits a week for a newcomer that is still to come to its floor', async () => {
  const slow = await play({ daily: 150 });
  expect(slow.told()).toEqual(['new_spend likely firing initech']);
  const slower = await play({ daily: 60, untilMs: Date.UTC(2026, 2, 30) });
  expect(slower.told()).toEqual(['drop likely firing globex', 'new_spend happened firing initech']);
  const [at] = slower.rows("SELECT substr(at, 1, 10) FROM alert_transitions WHERE change = 'fired'") as string[];
  expect(at).toBe('2026-03-20');
});

test('it is told as one for all months that are looked at, and no month is told as a fall beside it', async () => {
  const world = await play({ untilMs: Date.UTC(2026, 5, 10) });
  expect(world.told().filter((line) => !line.includes('resolved'))).toEqual(['new_spend likely firing initech']);
});

test('when the old id is used again the newcomer is told as itself', async () => {
  const world = await play({ returnsMs: Date.UTC(2026, 2, 20) });
  expect(world.told()).toEqual(['new_spend likely firing initech', 'new_spend happened escalated initech']);
  expect(world.summaries('new_spend')[1]).toContain(
    'It is not the new id of another tenant: that one uses credits again.',
  );
});

test.each([
  ['with another volume', { newDaily: 990 }],
  ['more than a week later', { beginsMs: CHANGED + 9 * DAY_MS }],
  ['long before', { beginsMs: CHANGED - 4 * DAY_MS }],
])('who begins %s is another tenant: both are told as themselves', async (_, story) => {
  const world = await play({ ...story, untilMs: Date.UTC(2026, 2, 28) });
  expect(world.told().sort()).toEqual(
    expect.arrayContaining(['drop likely firing globex', 'new_spend happened firing initech']),
  );
});

test('of two that stop one newcomer is the new id of one only', async () => {
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
    expect(world.summaries('new_spend').at(-1)).toContain('newcomer is probably the new id of nearer');
  },
);

test('who does not hear of the newcomer hears of the stop', async () => {
  const world = await play({
    beforeDay: ({ connection }, dayMs) => {
      if (dayMs !== CHANGED) return;
      addSilence(connection, {
        ...{ kind: 'silence', workspaceId: 'ws-1', rule: 'new_spend', tenant: 'initech', period: '*' },
        ...{ upToCredits: null, untilMs: CHANGED + 90 * DAY_MS, reason: 'known', by: 'a', nowMs: dayMs },
      });
    },
  });
  expect(world.told()).toEqual(['drop likely firing globex']);
});
