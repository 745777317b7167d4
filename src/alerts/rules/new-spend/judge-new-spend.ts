import { clear, holds, type Judgement, type PreviousPeriod, UNDECIDED } from '../../measures/judgement.ts';

export interface NewSpendInput {
  current: bigint;
  /** `usable` here: the period before was read completely after its end, and is not the workspace's first. */
  previous: PreviousPeriod;
  /** The period before had credits once: its record was withdrawn, or it was closed with some. */
  hadCredits: boolean;
  /** Credits below which a newcomer is no news. */
  floor: bigint;
  /** Credits from which on it is as much as a jump of another tenant; asked only of one that is news. */
  criticalFrom: () => bigint;
  /** What the open period comes to; null when nothing says so. Asked only of one that is news. */
  likely: () => bigint | null;
}

/**
 * A tenant that uses credits in a period and had none in the one before: no record, or one of zero. There is no ratio
 * to form, so the floor alone decides. Says nothing while the period before may just not have been read to its end.
 */
export function judgeNewSpend({
  current,
  previous,
  hadCredits,
  floor,
  criticalFrom,
  likely,
}: NewSpendInput): Judgement {
  if (!previous.usable || hadCredits || (previous.figures?.credits ?? 0n) > 0n) return clear(false);
  if (current > 0n && current >= floor) {
    // It has grown when more is to be expected than was told: that its month goes on is no growth.
    const expected = likely();
    const measure = expected !== null && expected > current ? expected : current;
    const severity = current >= criticalFrom() ? 'critical' : 'warning';
    return holds({ level: 'happened', severity, threshold: floor, measure });
  }
  return current * 10n < floor * 9n || current <= 0n ? clear(false) : UNDECIDED;
}
