/** A rate that changed for good: the mean before and from `at` on. */
export interface Step {
  at: number;
  before: number;
  after: number;
}

/** The rate after a step is so many times the one before, or the other way round. */
const TELLING_RATIO = 1.3;
/** A step explains at least so much of what the values differ by. */
const TELLING_SHARE = 0.25;

/**
 * The one place at which a series is best cut into two of constant value each (least squares), when the two differ
 * enough and the cut explains enough of the series to be worth telling; null otherwise.
 */
export function findStep(values: readonly number[]): Step | null {
  const total = values.reduce((sum, value) => sum + value, 0);
  const mean = total / values.length;
  const spread = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  let best: Step | null = null;
  let explained = 0;
  let sum = 0;
  for (let at = 1; at < values.length; at += 1) {
    sum += values[at - 1] ?? 0;
    const before = sum / at;
    const after = (total - sum) / (values.length - at);
    const gain = ((before - after) ** 2 * at * (values.length - at)) / values.length;
    if (gain <= explained) continue;
    explained = gain;
    best = { at, before, after };
  }
  if (best === null || explained < spread * TELLING_SHARE) return null;
  const [low, high] = [Math.min(best.before, best.after), Math.max(best.before, best.after)];
  return high > 0 && high >= low * TELLING_RATIO ? best : null;
}
