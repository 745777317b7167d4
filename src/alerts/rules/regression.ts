import { BETWEEN, clear, holds, type Judgement } from './rule.ts';

/** A fall below a hundredth of the figure is the jitter of a service that answers from several copies. */
const TELLING_PART = 100n;

export interface RegressionInput {
  /** The highest credits that the period had shown before it fell. */
  peak: bigint;
  /** Credits. */
  current: bigint;
  /** The alert fires already. */
  firing: boolean;
}

/** The counter of an open period fell, though usage only adds up: somebody corrected it, or lost something. */
export function judgeRegression({ peak, current, firing }: RegressionInput): Judgement {
  if (current >= peak) return clear(false);
  const fall = peak - current;
  if (!firing && fall * TELLING_PART < peak) return BETWEEN;
  return holds({ stage: 'certain', severity: 'warning', threshold: peak, measure: fall });
}
