import { projection } from '../projection.ts';
import { DAY_MS, least, MONTHS_BACK, type PaceInput, usedOnDay } from './curve.ts';

/** A month to date is a pace once so many of its days were used. */
const DAYS_OF_USE = 4;

/**
 * The month to date drawn out straight, and as each earlier month went on from this point: the lowest of them. Null when
 * none of them can tell.
 */
export function slowProjection({ current, limit, phase, curve }: PaceInput): bigint | null {
  let lowest = projection(current, phase);
  const isSettled = () => lowest * 10n < limit * 9n;
  const length = BigInt(phase.lengthMs);
  let months = 0;
  for (let before = 1; before <= MONTHS_BACK && !isSettled(); before += 1) {
    const total = curve.total(before);
    const reached = total === null ? null : curve.monthToDate(before, 0);
    if (total === null || reached === null) continue;
    months += 1;
    if (reached <= 0n) continue;
    if (before === 1) lowest = least(lowest, (current * total) / reached);
    // An earlier month that was shorter than what has passed of this one was over by then.
    const itsLength = BigInt(curve.lengthMs(before));
    if (itsLength > BigInt(phase.elapsedMs)) lowest = least(lowest, (current * total * length) / (reached * itsLength));
  }
  return months === 0 && !isSettled() ? null : lowest;
}

/** Whether too few days were used, or the month heads no more for the limit without its largest day. */
export function hangsOnOneDay({ current, limit, phase, curve }: PaceInput, projected: bigint): boolean {
  const days = Math.floor(phase.elapsedMs / DAY_MS);
  let largest = 0n;
  let daysOfUse = 0;
  for (let day = 0; day < days; day += 1) {
    const used = usedOnDay(curve, day) ?? 0n;
    if (used > 0n) daysOfUse += 1;
    if (used > largest) largest = used;
  }
  if (daysOfUse < DAYS_OF_USE) return true;
  const elapsed = BigInt(phase.elapsedMs);
  return projected * (current - largest) * elapsed < limit * current * (elapsed - BigInt(DAY_MS));
}
