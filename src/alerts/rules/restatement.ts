import { clear, holds, type Judgement, UNDECIDED, type UsageFigures } from './rule.ts';

export interface RestatementInput {
  /** As the period was closed, or as it had settled; null when it has done neither (any more). */
  stated: UsageFigures | null;
  /** It is closed: whatever changes has been invoiced. */
  closed: boolean;
  /** As the service says them now. */
  current: UsageFigures;
  /** Credits below which a change of a period that is not closed is no news. */
  floor: bigint;
}

/**
 * The service says something else of a period than what was closed, or than what it had settled at. Gone when it takes
 * that back. Of a period that is not closed yet, changes of a hundredth and of the floor count.
 */
export function judgeRestatement({ stated, closed, current, floor }: RestatementInput): Judgement {
  if (stated === null) return clear(true);
  const change = current.credits - stated.credits;
  const size = change < 0n ? -change : change;
  if (closed && size === 0n && stated.requests === current.requests) return clear(true);
  if (!closed && (size * 100n < stated.credits || size < floor || size === 0n)) {
    return size * 2n < floor || size * 200n < stated.credits ? clear(true) : UNDECIDED;
  }
  const level = closed ? 'settled' : 'happened';
  return holds({ level, severity: 'warning', threshold: null, measure: size === 0n ? null : size });
}
