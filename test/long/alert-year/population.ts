import type { Period } from '../../../src/core/period.ts';
import { type Calendar, monthOf } from './calendar.ts';
import { createFamilies, dailyCredits } from './families.ts';
import type { Random } from './random.ts';

/** The service corrects a month: from a moment on it says so much more or less of it. */
export interface Correction {
  period: Period;
  fromMs: number;
  /** The moment from which on it says again what it said before; null is never. */
  untilMs: number | null;
  credits: number;
}

/** A tenant as the service knows it. */
export interface Tenant {
  id: string;
  family: string;
  /** Credits of each day of the calendar. */
  daily: Float64Array;
  /** Days on which a request costs as many times as much as usual, from this day on. */
  intensity: { fromDay: number; factor: number } | null;
  corrections: Correction[];
  /** Moments from which on the service lists no record of a period. */
  withdrawn: { period: Period; fromMs: number }[];
  /** Months of which it has a record also when nothing is used. */
  zeroFrom: Period | null;
}

/** Credits that a request costs in usual days. */
export const CREDITS_A_REQUEST = 10;

/**
 * Tenants of every family, `each` of a kind: twelve families that are there all year, and those that leave, come, and
 * change their name, on days that chance gives.
 */
export function createPopulation(calendar: Calendar, each: number, random: Random): Tenant[] {
  const families = createFamilies(calendar);
  const [even] = families;
  if (even === undefined) throw new Error('there are no families');
  const tenants = families.flatMap((family) =>
    Array.from({ length: each }, (_, n) => {
      const usual = family.size === undefined ? usualSize(random) : spread(family.size, random);
      return tenant(`${family.name}-${n}`, family.name, dailyCredits(family, usual, calendar, random));
    }),
  );
  const someDay = () => random.integer(monthOf(calendar, addableFrom(calendar)).firstDay, calendar.days - 40);
  for (let n = 0; n < each; n += 1) {
    const use = () => dailyCredits(even, usualSize(random), calendar, random);
    const [left, came, renamed] = [use(), use(), use()];
    const [leaves, comes, changes] = [someDay(), someDay(), someDay()];
    tenants.push(
      tenant(
        `churned-${n}`,
        'churned',
        left.map((credits, day) => (day < leaves ? credits : 0)),
      ),
    );
    tenants.push(
      tenant(
        `newcomer-${n}`,
        'newcomer',
        came.map((credits, day) => (day >= comes ? credits : 0)),
      ),
    );
    tenants.push(
      tenant(
        `old-name-${n}`,
        'renamed',
        renamed.map((credits, day) => (day < changes ? credits : 0)),
      ),
    );
    tenants.push(
      tenant(
        `new-name-${n}`,
        'renamed',
        renamed.map((credits, day) => (day >= changes ? credits : 0)),
      ),
    );
  }
  return tenants;
}

export function tenant(id: string, family: string, daily: Float64Array): Tenant {
  return { id, family, daily, intensity: null, corrections: [], withdrawn: [], zeroFrom: null };
}

/** Nobody comes or goes before the third month. */
function addableFrom(calendar: Calendar): Period {
  return calendar.months[2]?.period ?? calendar.from;
}

/** Credits of a usual month: mostly from 20,000 to 200,000, a few above a million. */
export function usualSize(random: Random): number {
  return Math.min(2_000_000, Math.max(9_500, 60_000 * random.noise(0.9)));
}

function spread([least, most]: [number, number], random: Random): number {
  return least + (most - least) * random.next();
}
