import { ascending, type Curve, DAY_MS, least, MONTHS_BACK, type PaceInput, restOfMonth } from './curve.ts';

/** The rest of the month is compared with stretches as long as it, of so many days back, one every so many days. */
const DAYS_BACK = 120;
const DAYS_APART = 3;
/** With stretches of fewer days nothing is known of how they vary. */
const LEAST_SPAN = 28;
/** So many percent of them used less than what is counted on. */
const LESS_PERCENT = 10;

/**
 * What the month comes to when its rest is a usual one: the credits so far, and what 90% of the tenant's stretches of that
 * length used at least, but no more than the middle one of the rests of its months. Without such stretches, the least of
 * these rests: the next is as likely as any of them to be the least, so of n months n / (n + 1) of it count. Null when no
 * month can tell.
 */
export function restProjection({ current, limit, phase, curve }: PaceInput): bigint | null {
  const rests = restsOfMonths(curve);
  const [lowest, middle] = [ascending([...rests])[0], middleOf(rests)];
  if (lowest === undefined || middle === undefined) return null;
  // The middle one alone does not bring it near the limit, and reading the stretches is what costs.
  if ((current + middle) * 10n < limit * 9n) return current + middle;
  const usual = usualStretch(curve, Math.ceil((phase.lengthMs - phase.elapsedMs) / DAY_MS));
  const months = BigInt(rests.length);
  return current + (usual === null ? (lowest * months) / (months + 1n) : least(usual, middle));
}

/** What the month comes to when its rest is like the middle one of the tenant's months; null when no month can tell. */
export function usualProjection(current: bigint, curve: Curve): bigint | null {
  const middle = middleOf(restsOfMonths(curve));
  return middle === undefined ? null : current + middle;
}

/** What the rest of each of its months added from this point on. */
export function restsOfMonths(curve: Curve): bigint[] {
  const rests: bigint[] = [];
  for (let before = 1; before <= MONTHS_BACK; before += 1) {
    const rest = restOfMonth(curve, before);
    if (rest !== null) rests.push(rest);
  }
  return rests;
}

/** What the month comes to when it goes on as each of the months before went on from this point. */
export function monthsContinued(current: bigint, curve: Curve): bigint[] {
  const totals: bigint[] = [];
  for (let before = 1; before <= MONTHS_BACK; before += 1) {
    const total = curve.total(before);
    const reached = total === null ? null : curve.monthToDate(before, 0);
    if (total !== null && reached !== null && reached > 0n) totals.push((current * total) / reached);
  }
  return totals;
}

function middleOf(rests: readonly bigint[]): bigint | undefined {
  return ascending([...rests])[Math.floor(rests.length / 2)];
}

/** Credits that all but 10% of the stretches of so many days used at least; null when too few were read. */
function usualStretch(curve: Curve, days: number): bigint | null {
  const stretches: bigint[] = [];
  for (let endedDaysAgo = 0; endedDaysAgo + days <= DAYS_BACK; endedDaysAgo += DAYS_APART) {
    const used = curve.used(endedDaysAgo + days, endedDaysAgo);
    if (used === null) break;
    stretches.push(used);
  }
  if (stretches.length * DAYS_APART < LEAST_SPAN) return null;
  return ascending(stretches)[Math.floor((stretches.length * LESS_PERCENT) / 100)] ?? null;
}
