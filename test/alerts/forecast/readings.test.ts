import { expect, test } from 'vitest';
import { createCachedReadings, createReadings } from '../../../src/alerts/forecast/readings.ts';
import {
  createCachedRunTimes,
  createRunTimes,
  READING_TOLERANCE_MS,
  RunMoments,
  type RunTimes,
} from '../../../src/alerts/forecast/run-moments.ts';
import { DAY_MS, dayWorld } from '../evaluate-run/day-world.ts';

test('cached readings equal those of the ledger, up to each entry', async () => {
  const world = dayWorld();
  for (let day = 0; day < 12; day += 1) {
    const nowMs = Date.UTC(2026, 1, 24) + day * DAY_MS;
    for (const tenant of ['acme', 'globex']) if (day % 3 !== tenant.length % 3) world.post(tenant, nowMs, 100 + day);
    await world.read(nowMs);
  }
  const keys = world.connection.prepare('SELECT DISTINCT period_key, tenant_key FROM usage_entries').raw().all();
  const last = Number(world.rows('SELECT max(entry_id) FROM usage_entries')[0]);
  const [kept, asked] = [createCachedReadings(world.connection), createReadings(world.connection)];
  expect(keys).toHaveLength(4);
  for (const [periodKey, tenantKey] of [...(keys as [number, number][]), [1, 1] as const]) {
    const entryIds = Array.from({ length: last + 2 }, (_, entryId) => entryId);
    const exact = asked.exact(periodKey, tenantKey, entryIds);
    expect(exact).toHaveLength(last + 2);
    expect(kept.exact(periodKey, tenantKey, entryIds)).toEqual(exact);
    for (const order of [entryIds, entryIds.toReversed(), entryIds.toSorted((a, b) => (a % 7) - (b % 7))]) {
      const numbers = order.map((entryId) => Number(exact[entryId]));
      expect(kept.numbers(periodKey, tenantKey, order)).toEqual(numbers);
      expect(asked.numbers(periodKey, tenantKey, order)).toEqual(numbers);
    }
  }
});

test('cached times of runs equal those of the ledger', async () => {
  const world = dayWorld();
  const startMs = Date.UTC(2026, 1, 24);
  const days = Array.from({ length: 12 }, (_, day) => day);
  for (const day of days) {
    if (day % 2 === 0) world.post('acme', startMs + day * DAY_MS, 100);
    await world.read(startMs + (day === 5 ? 9 : day) * DAY_MS);
  }
  const [kept, asked] = [createCachedRunTimes(world.connection, 1), createRunTimes(world.connection, 1)];
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

test.each([[false], [true]])(
  'where a moment lies does not depend on what was asked before (late ones first: %s)',
  (late) => {
    const runs = [10, 11, 14].map((hours, place) => ({ runKey: place + 1, atMs: hours * 2 * READING_TOLERANCE_MS }));
    const nowMs = 15 * 2 * READING_TOLERANCE_MS;
    let asked = 0;
    const times: RunTimes = {
      before: (atMs) => {
        asked += 1;
        return runs.findLast((run) => run.atMs <= atMs);
      },
      after: (runKey, fromMs, toMs) => runs.find((run) => run.runKey > runKey && run.atMs > fromMs && run.atMs < toMs),
      lastEntryId: (runKey) => runKey * 100,
    };
    const moments = Array.from({ length: 60 }, (_, quarter) => (quarter * READING_TOLERANCE_MS) / 2);
    const alone = moments.map((atMs) => new RunMoments(times, nowMs).placeOf(atMs));
    expect(alone.filter((place) => place === null)).toHaveLength(38);
    const inTurn = new RunMoments(times, nowMs);
    asked = 0;

    const places = (late ? moments.toReversed() : moments).map((atMs) => inTurn.placeOf(atMs));

    expect(late ? places.toReversed() : places).toEqual(alone);
    // Of the moments before the first run only the latest is looked up.
    expect(asked).toBe(late ? 60 - 39 : 60);
  },
);
