import { type PaceInput, usedOnDay } from './curve.ts';
import { fastProjection, isUsualAgain, mayStandOut } from './fast-part.ts';
import { restProjection, usualProjection } from './rest-part.ts';
import { hangsOnOneDay, slowProjection } from './slow-part.ts';

/** Who used nothing on more of the last days than this has no pace: what it used on a few days draws no line. */
const DAYS_LOOKED_AT = 28;
const MOST_IDLE_DAYS = 14;

/**
 * Where a month heads: `ahead` at the limit or above. `wavering` is near it by the latest days, so that who waits goes on
 * waiting; `near` from nine tenths of it on, `unknown` without readings.
 */
export interface Pace {
  verdict: 'ahead' | 'wavering' | 'near' | 'behind' | 'unknown';
  /** Credits that the month comes to; null when nothing says so. */
  projection: bigint | null;
}

/**
 * Compares an open month with the tenant's own past, in three ways, of which one is enough. Slow: the month to date, drawn
 * out straight and as each earlier month went on from this point, the lowest of them. Rest: what has been used already,
 * and a usual rest of the month. Fast: what the latest days add if the month goes on like this, when they stand out from
 * all of the past sixty days.
 */
export function judgePace(input: PaceInput): Pace {
  const { limit } = input;
  const isNear = (credits: bigint | null): credits is bigint => credits !== null && credits * 10n >= limit * 9n;
  const drawn = slowProjection(input);
  const afterBurst = isNear(drawn) ? afterEndedBurst(input) : null;
  if (afterBurst === null && drawn !== null && drawn >= limit && isRegular(input) && !hangsOnOneDay(input, drawn)) {
    return { verdict: 'ahead', projection: drawn };
  }
  const slow = afterBurst ?? drawn;
  const rest = restProjection(input);
  if (rest !== null && rest >= limit) return { verdict: 'ahead', projection: rest };
  if (input.isNew === true && !mayStandOut(input.curve)) return { verdict: 'behind', projection: null };
  const fast = isRegular(input) ? fastProjection(input) : null;
  if (fast?.surges && fast.credits >= limit) {
    return { verdict: 'ahead', projection: fast.credits };
  }
  if (afterBurst === null && fast !== null && isNear(fast.credits))
    return { verdict: 'wavering', projection: fast.credits };
  const likely = rest !== null && (slow === null || rest > slow) ? rest : slow;
  if (isNear(likely)) return { verdict: 'near', projection: likely };
  // A part that cannot be judged may still be ahead.
  return { verdict: slow === null ? 'unknown' : 'behind', projection: likely };
}

/**
 * What a month comes to whose burst has ended: its latest days are usual ones, and with a usual rest it stays below the limit. Drawn
 * out straight the burst would go on for weeks. Null while it has not ended.
 */
function afterEndedBurst({ current, limit, curve }: PaceInput): bigint | null {
  const usual = usualProjection(current, curve);
  return usual !== null && usual < limit && isUsualAgain(curve) ? usual : null;
}

/** Whether the tenant used something on half of the last four weeks' days; a day that nobody read may have been used. */
function isRegular({ curve }: PaceInput): boolean {
  let idle = 0;
  for (let day = 0; day < DAYS_LOOKED_AT && idle <= MOST_IDLE_DAYS; day += 1) {
    // The days that are left could not change it.
    if (day - idle >= DAYS_LOOKED_AT - MOST_IDLE_DAYS) return true;
    if (usedOnDay(curve, day) === 0n) idle += 1;
  }
  return idle <= MOST_IDLE_DAYS;
}
