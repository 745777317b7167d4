import { clear, holds, type Judgement, UNDECIDED } from './rule.ts';

/** A fall below a hundredth of the figure is the jitter of a service that answers from several copies. */
const TELLING_PART = 100n;

export interface RegressionInput {
  /** The highest credits that the period had shown before it fell. */
  peak: bigint;
  /** Credits. */
  current: bigint;
  /** What it fell by when that was told; null for a fall that this run has found. */
  fell: bigint | null;
  /** What this run has added to the counter, and what usage adds in such a time at the rate before the fall. */
  gained: bigint;
  usual: bigint;
}

/**
 * The counter of an open period fell, though usage only adds up: somebody corrected it, or lost something. It ends when
 * one run brings the credits back; that the counter grows on says nothing about what it has lost.
 */
export function judgeRegression({ peak, current, fell, gained, usual }: RegressionInput): Judgement {
  const missing = peak - current;
  if (fell === null) {
    return missing * TELLING_PART < peak || missing <= 0n ? UNDECIDED : fallen(peak, missing);
  }
  if ((gained - usual) * 10n >= fell * 9n) return clear(true);
  return fallen(peak, missing > fell ? missing : fell);
}

function fallen(peak: bigint, measure: bigint): Judgement {
  return holds({ stage: 'certain', severity: 'warning', threshold: peak, measure });
}
