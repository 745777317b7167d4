import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { drawPlan, WEEKS } from './play/plan.ts';
import { play, warmUp } from './play/play.ts';

beforeAll(warmUp);

test('a world in which a machine is split is the same twice, though real files are copied in it', async () => {
  const plan = drawPlan(981_020, { days: 3 });
  const first = await play(plan);
  const second = await play(plan);

  expect(first.met.get('machine split')).toBe(1);
  expect(second.trace).toEqual(first.trace);
});

const SEEDS = readFileSync(new URL('seeds.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => /^\d/.test(line));

test.each(SEEDS)('a world that once broke a promise keeps it: %s', async (line) => {
  const [seed = 0, days = 1] = line.split(' ').map(Number);
  const kept = line.split(' ')[2] ?? '-';
  const whole = drawPlan(seed, { days });
  const ids = kept.split(',').map(Number);
  const happenings = kept === '-' ? whole.happenings : whole.happenings.filter(({ id }) => ids.includes(id));

  expect((await play({ ...whole, happenings })).broken).toBeNull();
});

test(`a world of ${WEEKS.days} days keeps every promise`, { timeout: 600_000 }, async () => {
  expect((await play(drawPlan(1, WEEKS))).broken, `npm run simulate -- --seed 1 --days ${WEEKS.days}`).toBeNull();
});
