import { toRoutes } from '../../../src/alerts/pipeline/route.ts';
import { periodFromIndex } from '../../../src/core/period.ts';
import type { TruthOrder } from '../../long/alert-year/reader/truth.ts';
import { closeMonth } from '../../support/open-ledger.ts';
import { setRoutes } from '../../support/run/real-run.ts';
import { DAY_MS, type DayWorld, dayWorld, HOUR_MS } from './day-world.ts';

const FROM = Date.parse('2026-01-05');
const UNTIL = Date.parse('2026-04-20');
const CLOSED_MS = Date.parse('2026-03-10');
const on = (day: string) => Date.parse(`2026-${day}`);

/** What each uses on a day, beside those of whom many do the same. */
const ALONE: Record<string, (dayMs: number) => number> = {
  steady: () => 300,
  'Acme GmbH': (at) => (at >= on('03-01') && at < on('03-20') ? 0 : 300),
  initech: (at) => (at < on('03-11') ? 250 : 0),
  falls: (at) => (at < on('03-01') ? 400 : 90),
  newcomer: (at) => (at >= on('03-25') ? 500 : 0),
  'old-id': (at) => (at < on('03-15') ? 500 : 0),
  'new-id': (at) => (at >= on('03-16') ? 490 : 0),
  'comes-back': (at) => (at < on('02-01') || at >= on('03-02') ? 310 : 0),
  'pauses-over-the-month': (at) => (at < on('03-20') || at >= on('04-06') ? 350 : 0),
  corrected: (at) => (at < on('03-05') ? 300 : at < on('03-20') ? 1_200 : 0),
  loses: (at) => ({ [on('03-15')]: -4_000, [on('03-17')]: -5_000, [on('03-21')]: 11_000 })[at] ?? 1_000,
  'loses for good': (at) => (at === on('03-15') ? -4_000 : 800),
  restated: () => 800,
};

function postDay(world: DayWorld, dayMs: number): void {
  for (const [tenant, uses] of Object.entries(ALONE)) if (uses(dayMs) !== 0) world.post(tenant, dayMs, uses(dayMs));
  for (let number = 0; number < 60; number += 1) {
    const usual = 300 + 10 * number;
    const jumps = number < 7 && dayMs >= on('03-05');
    const stops = number >= 30 && number < 37 && dayMs >= on('03-12') && dayMs < on('03-24');
    const loses = number >= 20 && number < 26 && dayMs === on('03-25');
    if (!stops) world.post(`t-${number}`, dayMs, loses ? -3_000 : jumps ? usual * 4 : usual);
  }
  if (dayMs >= on('03-10')) for (let number = 0; number < 6; number += 1) world.post(`n-${number}`, dayMs, 700);
  if (dayMs === CLOSED_MS) closeMonth(world.connection, '2026-02', dayMs);
  if (dayMs === on('03-20')) world.state('restated', '2026-02', 20_000n);
  if (dayMs === on('03-28')) world.state('restated', '2026-02', 22_400n);
  if (dayMs === on('03-24')) world.state('corrected', '2026-03', 9_000n);
}

/** A spring of stops, new ids, corrections and what many do at once, told at once to one channel. */
export async function playSpring(): Promise<DayWorld> {
  const world = dayWorld();
  setRoutes(
    world.connection,
    toRoutes([{ type: 'log', name: 'log' }]).map((route) => ({ ...route, followUps: 'at_once' as const })),
  );
  for (let dayMs = FROM; dayMs < UNTIL; dayMs += DAY_MS) {
    postDay(world, dayMs);
    await world.read(dayMs + 30 * HOUR_MS);
  }
  return world;
}

/** What a reader of its messages has to know. */
export const SPRING_ORDER: TruthOrder = {
  ratio: 1.5,
  minCredits: 1_000,
  settleHours: 48,
  lookback: 1,
  closedAtMs: (month) => (periodFromIndex(month) === '2026-02' ? CLOSED_MS : null),
  plansOf: () => [],
};
