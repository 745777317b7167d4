import { expect, test } from 'vitest';
import { periodAt } from '../../../src/core/period.ts';
import { DAY_MS, dayWorld, HOUR_MS } from './day-world.ts';

const FROM = Date.UTC(2026, 0, 12);
const TENANTS = ['t-0', 't-1', 't-2', 't-3'];

test('a counter that counts too much by day and is corrected by night is sent once, and no credits are reported as back', async () => {
  const world = dayWorld();
  const real = new Map<string, bigint>();
  for (let day = 0; day < 80; day += 1) {
    const dayMs = FROM + day * DAY_MS;
    for (const [hour, part] of [
      [8, 30n],
      [16, 80n],
      [23, 130n],
    ] as const) {
      for (const [index, tenant] of TENANTS.entries()) {
        const key = `${tenant} ${periodAt(dayMs)}`;
        const before = real.get(key) ?? 0n;
        const used = BigInt(9_000 + 700 * ((day * 7 + index * 3) % 5));
        world.state(tenant, periodAt(dayMs), before + (used * part) / 100n);
        if (hour === 23) real.set(key, before + used);
      }
      world.state('even', periodAt(dayMs), BigInt((new Date(dayMs).getUTCDate() - 1) * 24 + hour) * 50n);
      await world.read(dayMs + hour * HOUR_MS);
    }
    // The night.
    for (const tenant of TENANTS) world.state(tenant, periodAt(dayMs), real.get(`${tenant} ${periodAt(dayMs)}`) ?? 0n);
    await world.read(dayMs + 23.5 * HOUR_MS);
  }
  const told = world.summaries('regression');
  expect(told.filter((line) => line.includes(': lost '))).toHaveLength(TENANTS.length);
  // That it is over is said when its month has settled, and says of no credits that they are back.
  expect(told.filter((line) => / has settled without the lost /.test(line))).toHaveLength(TENANTS.length);
  expect(told).toHaveLength(2 * TENANTS.length);
});
