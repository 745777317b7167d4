import type { Trial } from './backtest.ts';

/** What settings on trial would cost and spare; of what is labelled, by what people have said of it. */
export interface TrialSum {
  alerts: number;
  notifications: number;
  /** Labelled real, told by today's settings and not by these. */
  lost: number;
  /** Labelled real, and labelled false, and told. */
  real: number;
  wrong: number;
}

export function sumOfTrial({ comparison, labelled }: Trial, side: 'today' | 'proposed'): TrialSum {
  const sum = (count: (rule: Trial['labelled'][number]) => number) =>
    labelled.reduce((total, rule) => total + count(rule), 0);
  return {
    ...comparison.total[side],
    lost: side === 'today' ? 0 : sum(({ lost }) => lost),
    real: sum(({ told }) => told[side].real),
    wrong: sum(({ told }) => told[side].false),
  };
}

/**
 * The settings to take: of those that lose no alert labelled real, the ones that tell the fewest labelled false, then
 * those with the fewest notifications. Null when nothing is labelled real, so that nothing shows what is worth telling.
 * `-1` stands for today's, which others must beat.
 */
export function bestTrial(trials: readonly Trial[]): number | null {
  const [first] = trials;
  if (first === undefined || first.labelled.every(({ labelled }) => labelled.real === 0)) return null;
  let best = { index: -1, sum: sumOfTrial(first, 'today') };
  for (const [index, trial] of trials.entries()) {
    const sum = sumOfTrial(trial, 'proposed');
    if (sum.lost > 0) continue;
    const isBetter =
      sum.wrong < best.sum.wrong || (sum.wrong === best.sum.wrong && sum.notifications < best.sum.notifications);
    if (isBetter) best = { index, sum };
  }
  return best.index;
}
