import { DAY_MS, type DayImage, dayWorld, HOUR_MS } from './day-world.ts';

export const FIRST_DAY = Date.UTC(2026, 0, 30);

export const CHANGED = Date.UTC(2026, 2, 11);

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
export async function play(story: Story) {
  const { daily = 330, newDaily = daily, stopsMs = CHANGED, beginsMs = CHANGED, beforeDay, tellsOfThePast } = story;
  const { returnsMs = Number.POSITIVE_INFINITY, untilMs = Date.UTC(2026, 2, 24) } = story;
  // As long as nothing has changed, one past is that of all stories.
  const isUsual = daily === 330 && !tellsOfThePast;
  const known = isUsual ? usualPast : undefined;
  const world = dayWorld({ criticalShare: 1 }, { lookbackPeriods: 2 }, known);
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
