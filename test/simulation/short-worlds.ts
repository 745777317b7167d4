import { beforeAll, expect, test } from 'vitest';
import { drawPlan, SHORT } from './play/plan.ts';
import { play, warmUp } from './play/play.ts';

/** Of the short worlds that every `npm test` plays; two files share them, so that two cores do. */
const WORLDS = 200;

/** Plays every second short world from this seed on. */
export function testShortWorlds(first: number): void {
  beforeAll(warmUp);

  test(`short worlds ${first}, ${first + 2} ... keep every promise`, { timeout: 600_000 }, async () => {
    for (let seed = first; seed <= WORLDS; seed += 2) {
      const { broken } = await play(drawPlan(seed, SHORT));
      expect(broken, `npm run simulate -- --seed ${seed} --days ${SHORT.days}`).toBeNull();
    }
  });
}
