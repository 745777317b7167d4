import { ascending, type PaceInput } from './curve.ts';
import type { Pace } from './pace.ts';
import { monthsContinued, restsOfMonths } from './rest-part.ts';

/** Credits that an open month comes to, by the subject's own past. */
export interface Forecast {
  low: bigint;
  likely: bigint;
  high: bigint;
}

/**
 * What a month comes to, with what its rule has judged. A pace that is ahead says the least; how the subject's own months
 * went on from this point, the most. Otherwise the rests of these months say what is added: the least, the middle one, the
 * largest. Null where no month can tell.
 */
export function forecast(input: Pick<PaceInput, 'current' | 'curve'>, judged: Pace | null): Forecast | null {
  const { current, curve } = input;
  const usual = ascending(restsOfMonths(curve).map((rest) => current + rest));
  const likely = judged?.projection ?? middle(usual);
  if (likely === undefined) return null;
  const isAhead = judged?.verdict === 'ahead';
  const likeBefore = isAhead ? middle(ascending(monthsContinued(current, curve))) : undefined;
  const all = ascending([likely, ...usual, ...(likeBefore === undefined ? [] : [likeBefore])]);
  return { low: isAhead ? likely : (all[0] ?? likely), likely, high: all.at(-1) ?? likely };
}

/** Of what has no past: all that its rate says. */
export function byRateAlone(likely: bigint | null): Forecast | null {
  return likely === null ? null : { low: likely, likely, high: likely };
}

function middle(sorted: readonly bigint[]): bigint | undefined {
  return sorted[Math.floor(sorted.length / 2)];
}
