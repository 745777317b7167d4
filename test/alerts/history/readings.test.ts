import { expect, test } from 'vitest';
import { keptReadings, readingsOf } from '../../../src/alerts/history/readings.ts';
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
    for (let entryId = 0; entryId <= last + 1; entryId += 1) {
      expect(kept(periodKey, tenantKey, entryId)).toEqual(asked(periodKey, tenantKey, entryId));
    }
  }
});
