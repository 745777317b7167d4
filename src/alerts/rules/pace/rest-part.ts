import { least, MONTHS_BACK, type PaceInput, restOfMonth } from './curve.ts';

/**
 * What the month comes to when its rest is a usual one: the credits so far, and the least that the rest of an earlier
 * month added. The next is as likely as any of them to be the least, so of n months n / (n + 1) of it count. Null when no
 * month can tell.
 */
export function restProjection({ current, curve }: PaceInput): bigint | null {
  let lowest: bigint | null = null;
  let months = 0n;
  for (let before = 1; before <= MONTHS_BACK; before += 1) {
    const rest = restOfMonth(curve, before);
    if (rest === null) continue;
    months += 1n;
    lowest = lowest === null ? rest : least(lowest, rest);
  }
  return lowest === null ? null : current + (lowest * months) / (months + 1n);
}
