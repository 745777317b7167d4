import {
  clear,
  holds,
  type Judgement,
  type PeriodPhase,
  type PreviousPeriod,
  UNDECIDED,
} from '../../measures/judgement.ts';
import { type JumpSize, jumpThreshold } from '../../measures/threshold.ts';

export interface DropInput {
  /** Credits; zero when the tenant has no record of the period. */
  current: bigint;
  previous: PreviousPeriod;
  /** Credits of the comparison, see `buildThreshold`; null when there is nothing to compare with. */
  baseline: bigint | null;
  phase: PeriodPhase;
  /** The month before had jumped itself, and this one only returns to what was used before that. */
  returns: boolean;
  thresholds: JumpSize;
}

/**
 * A jump seen backwards: what was used before would be a jump against what is used now. Settled periods only, because
 * an open one is always below the one before.
 */
export function judgeDrop({ current, previous, baseline, phase, returns, thresholds }: DropInput): Judgement {
  if (!phase.over || !phase.settled || baseline === null || !previous.usable) return clear(true);
  if (returns) return clear(true);
  const limit = jumpThreshold(current, thresholds);
  if (baseline >= limit && baseline > current) {
    return holds({ level: 'settled', severity: 'warning', threshold: dropLimit(baseline, thresholds) });
  }
  return baseline * 10n < limit * 9n || baseline <= current ? clear(true) : UNDECIDED;
}

/** The most credits that still are a drop against the baseline; found by halving, since the ratio is any decimal. */
export function dropLimit(baseline: bigint, thresholds: JumpSize): bigint {
  let low = -1n;
  let high = baseline;
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (jumpThreshold(middle, thresholds) <= baseline) low = middle;
    else high = middle;
  }
  return low;
}
