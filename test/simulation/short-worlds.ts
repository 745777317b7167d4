import { beforeAll, expect, test } from 'vitest';
import { drawPlan, type PlanSize, SHORT, WEEKS } from './play/plan.ts';
import { play, warmUp } from './play/play.ts';

/** Of the short worlds that every `npm test` plays; two files share them, so that two cores do. */
const WORLDS = 200;

/** Plays every second short world from this seed on, and one of weeks. */
export function testShortWorlds(first: number): void {
  beforeAll(warmUp);

  test(`short worlds ${first}, ${first + 2} ... keep every promise`, { timeout: 600_000 }, async () => {
    for (let seed = first; seed <= WORLDS; seed += 2) await keepsPromises(seed, SHORT);
  });

  test(`a world of ${WEEKS.days} days keeps every promise`, { timeout: 600_000 }, () => keepsPromises(first, WEEKS));
}

async function keepsPromises(seed: number, size: PlanSize): Promise<void> {
  const { broken } = await play(drawPlan(seed, size));
  expect(broken, `npm run simulate -- --seed ${seed} --days ${size.days}`).toBeNull();
}
