import fc from 'fast-check';
import { expect } from 'vitest';
import type { Consistency } from '../../../src/config/types.ts';
import type { Bench } from './bench.ts';
import { play, type Verdict } from './play.ts';
import { type Kind, schedulesOf } from './schedule.ts';

export interface CampaignOptions {
  consistency: Consistency;
  kind: Kind;
  schedules: number;
  seed: number;
  /** What may not happen beside the faults that may never happen; its words, or null. */
  forbid: (verdict: Verdict) => string | null;
}

/** How many schedules of a campaign ended how. */
export interface Tally {
  outcomes: Map<string, number>;
  /** Published sets of keys that the service never had. */
  neverTrue: number;
}

/**
 * Plays as many random schedules and throws for the first that must not have ended as it did: fast-check then makes it
 * as small as it can and names seed and path, under which it plays again.
 */
export async function playMany(bench: Bench, options: CampaignOptions): Promise<Tally> {
  const { consistency, kind, schedules, seed, forbid } = options;
  const tally: Tally = { outcomes: new Map(), neverTrue: 0 };
  await fc.assert(
    fc.asyncProperty(schedulesOf(kind), async (schedule) => {
      const verdict = await play(bench, schedule, consistency);
      tally.outcomes.set(verdict.outcome, (tally.outcomes.get(verdict.outcome) ?? 0) + 1);
      if (verdict.neverTrue) tally.neverTrue += 1;
      const faults = [...verdict.faults, forbid(verdict) ?? []].flat();
      expect(faults, verdict.trace.join('\n')).toEqual([]);
    }),
    { numRuns: schedules, seed, includeErrorInReport: true },
  );
  return tally;
}

/** The published keys must have been those of the service at some moment of the run. */
export function neverTrue(verdict: Verdict): string | null {
  return verdict.neverTrue ? 'the service never had the published keys' : null;
}

/** As {@link neverTrue}, unless a published key had left after a reading and was back for the next one. */
export function neverTrueWithoutReturn(verdict: Verdict): string | null {
  return verdict.returned.length === 0 ? neverTrue(verdict) : null;
}

export function nothing(): null {
  return null;
}
