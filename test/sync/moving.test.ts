import { describe, expect, test } from 'vitest';
import { Bench } from '../long/moving/bench.ts';
import { neverTrue, playMany } from '../long/moving/campaign.ts';
import { play } from '../long/moving/play.ts';
import type { Burst, Schedule } from '../long/moving/schedule.ts';

/** Always the same few schedules; test/long/moving plays a thousand others every time. */
const seed = 20_260_320;

const SWAP: Burst = { before: 1, moves: [{ op: 'swap', pick: 0, value: 0 }] };
const RESTORE: Burst = { before: 0, moves: [{ op: 'restore', pick: 0, value: 0 }] };
/** 12 records in two pages, the highest credits first; the first one leaves once page 1 has been read, and a last one comes. */
const SWAPPED: Schedule = {
  order: 'credits',
  rows: 12,
  perPage: 6,
  concurrency: 1,
  picks: [0],
  walks: [[SWAP], [], []],
  known: false,
  outage: null,
};

describe('a listing that moves while it is read', () => {
  test.each([
    { consistency: 'twice', kind: 'grow', schedules: 4 },
    { consistency: 'twice', kind: 'reorder', schedules: 8 },
    { consistency: 'twice', kind: 'insert', schedules: 4 },
    { consistency: 'twice', kind: 'delete', schedules: 4 },
    { consistency: 'twice', kind: 'swap', schedules: 8 },
    { consistency: 'twice', kind: 'mixed', schedules: 4 },
    { consistency: 'counted', kind: 'reorder', schedules: 8 },
  ] as const)('publishes keys that it had, with $consistency, or nothing: $kind', async (campaign) => {
    const tally = await playMany(new Bench(), { ...campaign, seed, forbid: neverTrue });
    expect(tally.outcomes.get('published')).toBeGreaterThan(0);
  });

  test('misses a record under `counted` when one leaves and one comes, and is seen to move under `twice`', async () => {
    const bench = new Bench();
    expect(await play(bench, SWAPPED, 'counted')).toMatchObject({ outcome: 'published', neverTrue: true, faults: [] });
    expect(await play(bench, SWAPPED, 'twice')).toMatchObject({ outcome: 'published', neverTrue: false, faults: [] });
  });

  test('misses a record under `twice` only when what left is back for the second reading, in step with it', async () => {
    const bench = new Bench();
    const flapping = { ...SWAPPED, walks: [[SWAP], [RESTORE, SWAP], [RESTORE, SWAP]] };
    const verdict = await play(bench, flapping, 'twice');
    expect(verdict).toMatchObject({ outcome: 'published', neverTrue: true, faults: [] });
    // The one that leaves under each walk and the one that comes: both were there again for the second reading.
    expect(verdict.returned).toHaveLength(2);

    const leftAlone = { ...SWAPPED, walks: [[SWAP], [SWAP], [SWAP]] };
    expect(await play(bench, leftAlone, 'twice')).toMatchObject({ outcome: 'unstable', faults: [] });
  });

  test('plays a schedule the same every time, however its requests are in flight', async () => {
    const bench = new Bench();
    const reorder: Burst = { before: 5, moves: [{ op: 'reorder', pick: 40, value: 9_999 }] };
    const bursts = [SWAP, reorder, { ...SWAP, before: 7 }];
    const schedule = { ...SWAPPED, rows: 60, concurrency: 4, picks: [3, 0, 2, 1, 3], walks: [bursts, [], bursts] };
    const first = await play(bench, schedule, 'twice');
    expect(first.trace.filter((line) => line.includes('page 5'))).toHaveLength(3);
    expect(first.trace[1]).not.toContain('page 2');
    expect((await play(bench, schedule, 'twice')).trace).toEqual(first.trace);
  });
});
