import { expect, test } from 'vitest';
import { publish, usageRecord } from '../support/open-ledger.ts';
import { Random } from '../support/random.ts';
import { exceptions, ledgerSums } from './outlet-world.ts';
import { askedWorld } from './read-back-setup.ts';

const WORLDS = Number(process.env.OUTLET_WORLDS ?? 5);

/** Three of ten calls fail, half of those after they were taken; each run is another process; months are corrected, days pass. */
test("whatever fails, the receiver's sums by customer and month match the ledger", {
  timeout: 60_000 + WORLDS * 6_000,
}, async () => {
  for (let seed = 1; seed <= WORLDS; seed += 1) {
    const random = new Random(seed);
    const world = await askedWorld();
    const { connection, double, clock } = world;
    world.begin();
    const figures = new Map<string, number>();
    double.mood = () => {
      if (!random.chance(0.3)) return null;
      // Who says that there were too many requests has not taken this one.
      const status = random.pick([429, 500, 502, 503, 408]);
      return { status, taken: status !== 429 && random.chance(0.5) };
    };
    for (let step = 0; step < 25; step += 1) {
      for (let change = random.between(1, 30); change > 0; change -= 1) {
        const key = `t${random.below(12)} 2026-0${random.between(1, 3)}`;
        figures.set(key, Math.max(0, (figures.get(key) ?? 0) + random.between(-50, 100)));
      }
      const records = [...figures].map(([key, credits]) => {
        const [tenant = '', period = ''] = key.split(' ');
        return usageRecord(tenant, credits, period);
      });
      await publish(connection, records, { nowMs: clock.now() });
      await world.run();
      if (random.chance(0.2)) clock.advance(random.between(1, 40) * 3_600_000);
      double.nowMs = clock.now();
    }
    double.mood = () => null;
    await world.run();
    expect(double.sums(), `seed ${seed}`).toEqual(ledgerSums(connection));
    expect(exceptions(connection), `seed ${seed}`).toEqual([]);
    expect(double.faults).toEqual([]);
  }
});
