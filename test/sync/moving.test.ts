import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Consistency } from '../../src/config/types.ts';
import { AppError } from '../../src/core/errors.ts';
import { dumpOf } from '../support/ledger-view.ts';
import { openLedger } from '../support/open-ledger.ts';
import { realRun, writerOn } from '../support/run/real-run.ts';
import { NOON } from '../support/time/test-clock.ts';
import { type Burst, type Kind, MovingListing, type Schedule, schedulesOf, textOfKeys } from './moving-listing.ts';

const SCHEDULES = Number(process.env.MOVING_SCHEDULES ?? 6);
const SEED = Number(process.env.MOVING_SEED ?? 20_260_320);

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
};

describe('a listing that moves while it is read', () => {
  test.each<{ consistency: Consistency; kind: Kind }>([
    { consistency: 'twice', kind: 'grow' },
    { consistency: 'twice', kind: 'reorder' },
    { consistency: 'twice', kind: 'insert' },
    { consistency: 'twice', kind: 'delete' },
    { consistency: 'twice', kind: 'swap' },
    { consistency: 'twice', kind: 'mixed' },
    { consistency: 'twice', kind: 'returning' },
    { consistency: 'counted', kind: 'grow' },
    { consistency: 'counted', kind: 'reorder' },
    { consistency: 'counted', kind: 'insert' },
    { consistency: 'counted', kind: 'delete' },
  ])(
    'publishes keys that it had, with $consistency, or nothing: $kind',
    async ({ consistency, kind }) => {
      const outcomes = new Set<string>();
      const property = fc.asyncProperty(schedulesOf(kind), async (schedule) => {
        const { outcome, neverTrue, returned } = await play(schedule, consistency);
        outcomes.add(outcome);
        // What left after a reading and is back for the next is not seen to move.
        if (kind !== 'returning' || returned.length === 0) expect(neverTrue).toBe(false);
      });
      await fc.assert(property, { numRuns: SCHEDULES, seed: SEED, includeErrorInReport: true });
      expect([...outcomes]).toContain('published');
    },
    600_000,
  );

  test('misses a record under `counted` when one leaves and one comes, and is seen to move under `twice`', async () => {
    expect(await play(SWAPPED, 'counted')).toEqual({ outcome: 'published', neverTrue: true, returned: [] });
    expect(await play(SWAPPED, 'twice')).toEqual({ outcome: 'published', neverTrue: false, returned: [] });
  });

  test('misses a record under `twice` only when what left is back for the second reading, in step with it', async () => {
    const flapping = { ...SWAPPED, walks: [[SWAP], [RESTORE, SWAP], [RESTORE, SWAP]] };
    const verdict = await play(flapping, 'twice');
    expect(verdict).toMatchObject({ outcome: 'published', neverTrue: true });
    // The one that leaves under each walk and the one that comes: both were there again for the second reading.
    expect(verdict.returned).toHaveLength(2);
    const leftAlone = { ...SWAPPED, walks: [[SWAP], [SWAP], [SWAP]] };
    expect(await play(leftAlone, 'twice')).toMatchObject({ outcome: 'unstable' });
  });
});

/** Plays a schedule under one run and checks what the ledger made of it, but for whether its keys were ever true. */
async function play(schedule: Schedule, consistency: Consistency) {
  const { connection } = openLedger();
  const { perPage, concurrency } = schedule;
  const listing = new MovingListing('ws-1', schedule);
  const run = () =>
    realRun({
      writer: writerOn(connection),
      source: listing.source,
      now: () => NOON,
      workspace: { id: 'ws-1', perPage, concurrency, consistency },
    });
  let vanished: string | null = null;
  if (schedule.known) {
    await run();
    vanished = listing.vanish();
  }
  const usage = (): Map<string, string> => {
    const rows = connection.prepare(
      `SELECT period || ' ' || tenant_id, credits_used || '/' || request_count FROM finance_usage WHERE withdrawn = 0`,
    );
    return new Map(rows.raw().all() as [string, string][]);
  };
  const before = { usage: usage(), all: dumpOf(connection) };
  listing.begin();
  const { outcome, runId } = await run().then(
    (applied) => ({ outcome: 'published', runId: applied.runId }),
    (error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      return { outcome: error.code, runId: '' };
    },
  );
  if (outcome !== 'published') {
    expect(['unstable', 'suspicious_empty']).toContain(outcome);
    expect(dumpOf(connection)).toBe(before.all);
    return { outcome, neverTrue: false, returned: [] };
  }
  const history = connection.prepare("SELECT period || ' ' || tenant_id FROM finance_history WHERE run_id = ?");
  // Every value had changed, so each key of the accepted walk has left an entry.
  const brought = history.pluck().all(runId) as string[];
  // Absence is not deletion: what the run did not bring stays as it was.
  const expected = new Map(before.usage);
  for (const key of brought) expected.set(key, listing.given.get(key) ?? 'never given');
  expect(Object.fromEntries(usage())).toEqual(Object.fromEntries(expected));
  if (vanished !== null) expect([...expected.keys()]).toContain(vanished);
  return {
    outcome,
    neverTrue: !listing.truths.has(textOfKeys(brought)),
    returned: brought.filter((key) => listing.returned.has(key)),
  };
}
