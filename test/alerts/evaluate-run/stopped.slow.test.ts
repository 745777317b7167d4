import { expect, test } from 'vitest';
import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { Random } from '../../support/random.ts';
import { DAY_MS, dayWorld, HOUR_MS } from './day-world.ts';

const MINUTE_MS = 60_000;
const TENANTS = 20;
const FROM = Date.UTC(2026, 0, 12);
const DAYS = 75;

/**
 * Twenty tenants, every third of which works on weekdays only, stop on twenty days of March. The service posts each day's
 * figures in the night after it, at about two; runs end a few minutes after they are due.
 */
async function play(hours: readonly number[], seed: number) {
  const random = new Random(seed);
  const world = dayWorld();
  const stopsOn = (tenant: number) => 45 + tenant;
  let posted = 0;
  for (let day = 0; day < DAYS; day += 1) {
    const postsMs = FROM + day * DAY_MS + 2 * HOUR_MS + (random.fraction() - 0.5) * 80 * MINUTE_MS;
    for (const hour of hours) {
      const nowMs = Math.round(FROM + day * DAY_MS + hour * HOUR_MS + random.fraction() * 4 * MINUTE_MS);
      for (; posted < day || (posted === day && postsMs <= nowMs); posted += 1) {
        const usedMs = FROM + (posted - 1) * DAY_MS;
        const isWeekend = [0, 6].includes(new Date(usedMs).getUTCDay());
        for (let tenant = 0; tenant < TENANTS; tenant += 1) {
          if (posted > stopsOn(tenant) || (tenant % 3 === 0 && isWeekend)) continue;
          world.post(`t-${tenant}`, usedMs, 200 + random.below(200));
        }
      }
      await world.read(nowMs);
    }
  }
  const stopped = world.told().filter((line) => line.startsWith('drop likely firing'));
  const days =
    world.rows(`SELECT (julianday(t.at) - julianday('2026-01-12')) - 45 - CAST(substr(n.tenant_id, 3) AS integer)
    FROM alert_transitions t JOIN alerts a USING (alert_key) JOIN tenants n USING (tenant_key)
    WHERE a.rule = 'drop' AND t.change = 'fired' AND t.level = 'likely'`) as number[];
  return { stopped, days };
}

test.each([
  ['one reading a day', [6], 6.5],
  ['three readings a day', [2, 10, 18], 6.5],
  ['one reading a day in the hour of the posting', [2], 8.5],
] as const)('who stops is told with %s, whatever the second at which runs end', async (_, hours, within) => {
  const { stopped, days } = await play(hours, 7);
  expect(new Set(stopped).size).toBe(TENANTS);
  expect(stopped).toHaveLength(TENANTS);
  expect(Math.max(...days)).toBeLessThan(within);
});

test('a stop ends when the tenant continues in a later month', async () => {
  const world = dayWorld();
  for (let dayMs = Date.UTC(2026, 0, 12); dayMs < Date.UTC(2026, 3, 10); dayMs += DAY_MS) {
    world.post('steady', dayMs, 300);
    const isSilent = dayMs >= Date.UTC(2026, 2, 20) && dayMs < Date.UTC(2026, 3, 6);
    if (!isSilent) world.post('acme', dayMs, 300);
    await world.read(dayMs + 12 * HOUR_MS);
  }
  expect(world.told()).toEqual(['drop likely firing acme', 'drop likely resolved acme']);
  const [ended] = world.rows("SELECT max(at) FROM alert_transitions WHERE change = 'resolved'") as [string];
  expect(ended.slice(0, 10)).toBe('2026-04-06');
});

test('a stop shortly before the end of a month is one alert', async () => {
  const world = dayWorld();
  const pauses = (dayMs: number) => [2, 10].includes(new Date(dayMs).getUTCDate());
  for (let dayMs = Date.UTC(2026, 0, 12); dayMs < Date.UTC(2026, 3, 20); dayMs += DAY_MS) {
    world.post('steady', dayMs, 300);
    if (dayMs < Date.UTC(2026, 2, 27)) world.post('acme', dayMs, 300);
    if (dayMs < Date.UTC(2026, 2, 26) && !pauses(dayMs)) world.post('globex', dayMs, 300);
    for (const hour of [4, 12, 20]) await world.read(dayMs + hour * HOUR_MS);
  }
  const likely = world.told().filter((line) => line.startsWith('drop likely firing'));
  expect(likely.toSorted()).toEqual(['drop likely firing acme', 'drop likely firing globex']);
});

test('a tenant that paused for two weeks before is not missed again', async () => {
  const world = dayWorld();
  const isSilent = (dayMs: number) =>
    (dayMs >= Date.UTC(2026, 2, 1) && dayMs < Date.UTC(2026, 2, 16)) || dayMs >= Date.UTC(2026, 3, 20);
  for (let dayMs = Date.UTC(2026, 0, 12); dayMs < Date.UTC(2026, 3, 30); dayMs += DAY_MS) {
    world.post('steady', dayMs, 300);
    if (!isSilent(dayMs)) world.post('acme', dayMs, 300);
    if (dayMs < Date.UTC(2026, 3, 20)) world.post('globex', dayMs, 300);
    await world.read(dayMs + 12 * HOUR_MS);
  }
  const likely = world.told().filter((line) => line.startsWith('drop likely firing'));
  expect(likely).toEqual(['drop likely firing acme', 'drop likely firing globex']);
});

test('a stop names the credits missing by the end of the month, unless the tenant already used more than before', async () => {
  const world = dayWorld({ ratio: 100 });
  const price = { name: 'plain', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' };
  setCards(world.connection, { cards: [price], costs: [], source: 'import', nowMs: Date.UTC(2026, 0, 1) });
  for (let dayMs = Date.UTC(2026, 0, 12); dayMs < Date.UTC(2026, 2, 20); dayMs += DAY_MS) {
    world.post('steady', dayMs, 300);
    if (dayMs < Date.UTC(2026, 2, 11)) {
      world.post('less', dayMs, 300);
      world.post('more', dayMs, dayMs < Date.UTC(2026, 2, 1) ? 300 : 900);
    }
    await world.read(dayMs + 12 * HOUR_MS);
  }
  expect(world.summaries('drop')).toEqual([
    'less (ws-1): no usage for 3 days. Longer than any pause in the four weeks before. March so far: 3,000. February: 8,400. Costs about 54 EUR less than February.',
    'more (ws-1): no usage for 3 days. Longer than any pause in the four weeks before. March so far: 9,000. February: 8,400.',
  ]);
});

test('a standstill of all tenants is one message about the workspace within a day, and no stop of each', async () => {
  const world = dayWorld();
  const stopMs = Date.UTC(2026, 2, 10);
  const goesOnMs = Date.UTC(2026, 2, 16);
  const read = async (fromMs: number, toMs: number) => {
    for (let dayMs = fromMs; dayMs < toMs; dayMs += DAY_MS) {
      const isStill = dayMs >= stopMs && dayMs < goesOnMs;
      for (let tenant = 0; tenant < 6 && !isStill; tenant += 1) world.post(`t-${tenant}`, dayMs, 300 + tenant);
      await world.read(dayMs + 30 * HOUR_MS);
    }
  };
  await read(Date.UTC(2026, 0, 12), stopMs + DAY_MS);
  expect(world.told()).toEqual(['standstill happened firing *']);
  expect(world.summaries('standstill')).toEqual([
    'ws-1: no tenant has used anything since 10 March. Longer than any pause of the workspace in the four weeks before. Its metering has probably stopped: ask the service.',
  ]);
  await read(stopMs + DAY_MS, goesOnMs);
  expect(world.told()).toEqual(['standstill happened firing *']);
  await read(goesOnMs, goesOnMs + 3 * DAY_MS);
  expect(world.told()).toEqual(['standstill happened firing *', 'standstill happened resolved *']);
});

test('a workspace that rests at weekends has no standstill on them', async () => {
  const world = dayWorld();
  for (let dayMs = Date.UTC(2026, 0, 12); dayMs < Date.UTC(2026, 2, 30); dayMs += DAY_MS) {
    const rests = [0, 6].includes(new Date(dayMs).getUTCDay());
    for (let tenant = 0; tenant < 6 && !rests; tenant += 1) world.post(`t-${tenant}`, dayMs, 300 + tenant);
    await world.read(dayMs + 30 * HOUR_MS);
  }
  expect(world.told()).toEqual([]);
});

test('a stop at the end of a month is sent in the next one, even if that month has no record', async () => {
  const world = dayWorld();
  for (let dayMs = Date.UTC(2026, 0, 12); dayMs < Date.UTC(2026, 3, 12); dayMs += DAY_MS) {
    const isUsed = dayMs < Date.UTC(2026, 3, 1);
    for (const tenant of ['acme', 'globex']) if (isUsed) world.post(tenant, dayMs, 300);
    await world.read(dayMs + 12 * HOUR_MS);
  }
  expect(world.told()).toEqual(['drop likely firing acme', 'drop likely firing globex']);
  expect(world.summaries('drop')[0]).toMatch(/^acme \(ws-1\): no usage for \d+ days\. .* April so far: 0\./);
});
