import { expect, test } from 'vitest';
import { keptReadings, readingsOf } from '../../../src/alerts/history/readings.ts';
import { keptRunTimes, runTimesOf } from '../../../src/alerts/history/run-moments.ts';
import { DAY_MS, dayWorld } from '../evaluate/day-world.ts';

test('readings that are kept in memory are those that the ledger has, up to each entry', async () => {
  const world = dayWorld();
  for (let day = 0; day < 12; day += 1) {
    const nowMs = Date.UTC(2026, 1, 24) + day * DAY_MS;
    for (const tenant of ['acme', 'globex']) if (day % 3 !== tenant.length % 3) world.post(tenant, nowMs, 100 + day);
    await world.read(nowMs);
  }
  const keys = world.connection.prepare('SELECT DISTINCT period_key, tenant_key FROM usage_entries').raw().all();
  const last = Number(world.rows('SELECT max(entry_id) FROM usage_entries')[0]);
  const [kept, asked] = [keptReadings(world.connection), readingsOf(world.connection)];
  expect(keys).toHaveLength(4);
  for (const [periodKey, tenantKey] of [...(keys as [number, number][]), [1, 1] as const]) {
    const entryIds = Array.from({ length: last + 2 }, (_, entryId) => entryId);
    expect(kept(periodKey, tenantKey, entryIds)).toEqual(asked(periodKey, tenantKey, entryIds));
    expect(asked(periodKey, tenantKey, entryIds)).toHaveLength(last + 2);
  }
});

test('times of runs that are kept in memory are those that the ledger has', async () => {
  const world = dayWorld();
  const startMs = Date.UTC(2026, 1, 24);
  const days = Array.from({ length: 12 }, (_, day) => day);
  for (const day of days) {
    if (day % 2 === 0) world.post('acme', startMs + day * DAY_MS, 100);
    await world.read(startMs + (day === 5 ? 9 : day) * DAY_MS);
  }
  const [kept, asked] = [keptRunTimes(world.connection, 1), runTimesOf(world.connection, 1)];
  for (const day of [-1, ...days]) {
    const atMs = startMs + day * DAY_MS;
    for (const moment of [atMs - 1, atMs, atMs + 1]) {
      expect(kept.before(moment)).toEqual(asked.before(moment));
      for (const toMs of [moment + 1, moment + 3 * DAY_MS, moment + 20 * DAY_MS]) {
        for (const runKey of [0, day + 1, 8]) {
          expect(kept.after(runKey, moment, toMs)).toEqual(asked.after(runKey, moment, toMs));
        }
      }
    }
    expect(kept.lastEntryId(day + 1)).toBe(asked.lastEntryId(day + 1));
  }
});
