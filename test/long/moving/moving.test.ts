import { randomInt } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { Bench } from './bench.ts';
import { type CampaignOptions, neverTrue, neverTrueWithoutReturn, nothing, playMany, type Tally } from './campaign.ts';
import type { Kind } from './schedule.ts';

/** The same seed plays the same schedules. */
const seed = Number(process.env.MOVING_SEED ?? randomInt(2 ** 31));
const TIMEOUT_MS = 300_000;

const lines: string[] = [];
afterAll(() => {
  process.stdout.write(`moving listings, MOVING_SEED=${seed}\n${lines.join('\n')}\n`);
});

async function run(options: Omit<CampaignOptions, 'seed'>): Promise<Tally> {
  const startedAtMs = performance.now();
  const tally = await playMany(new Bench(), { ...options, seed });
  const { consistency, kind, schedules } = options;
  const counts = [...tally.outcomes].sort().map(([outcome, count]) => `${outcome} ${count}`);
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
  const wrong = tally.neverTrue > 0 ? `; ${tally.neverTrue} published keys were never true` : '';
  lines.push(`  ${consistency} ${kind}: ${schedules} schedules in ${seconds} s: ${counts.join(', ')}${wrong}`);
  return tally;
}

describe('with `twice` a run publishes keys that the service had at a moment of the run, or nothing', () => {
  const KINDS: Kind[] = ['grow', 'reorder', 'insert', 'delete', 'swap', 'mixed'];
  test.each(KINDS)(
    'when records move: %s',
    async (kind) => {
      const tally = await run({ consistency: 'twice', kind, schedules: 170, forbid: neverTrue });
      expect(tally.outcomes.get('published')).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test(
    'also when records come back, unless one left after a reading and was back for the next',
    async () => {
      await run({ consistency: 'twice', kind: 'returning', schedules: 170, forbid: neverTrueWithoutReturn });
    },
    TIMEOUT_MS,
  );

  test(
    'which is its limit: records that leave and come back in step with both walks are not seen to move',
    async () => {
      const tally = await run({
        consistency: 'twice',
        kind: 'flapping',
        schedules: 100,
        forbid: neverTrueWithoutReturn,
      });
      expect(tally.neverTrue).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});

describe('with `counted` the same holds', () => {
  test.each<Kind>(['grow', 'reorder', 'insert', 'delete'])(
    'when records move: %s',
    async (kind) => {
      const tally = await run({ consistency: 'counted', kind, schedules: 250, forbid: neverTrue });
      expect(tally.outcomes.get('published')).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test(
    'but its limit is a deletion together with an addition, which keeps the count',
    async () => {
      const tally = await run({ consistency: 'counted', kind: 'swap', schedules: 150, forbid: nothing });
      expect(tally.neverTrue).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
