import type { Period } from '../../../../src/core/period.ts';
import { type Calendar, monthOf } from '../calendar.ts';
import { type Tenant, tenant } from '../population.ts';
import type { Random } from '../random.ts';

/** One cause that changes the usage of many tenants at once, in days of the calendar. */
export interface SharedCause {
  name: string;
  fromDay: number;
  /** The first day without it; the end of the calendar for a change that stays. */
  toDay: number;
  factor: number;
  /** Share of the tenants that it reaches, 0 to 1. */
  share: number;
  /** The service counts otherwise and nobody uses more: every tenant gets exactly the factor, requests stay. */
  isRecount: boolean;
}

/** A cause by its month and day, as an entry of the catalogue. A day beyond the month lies in the next one. */
interface CauseDates {
  month: string;
  day: number;
  /** Null: it stays. */
  days: number | null;
  factor: number;
  share?: number;
  isRecount?: boolean;
}

const CATALOGUE: Readonly<Record<string, readonly CauseDates[]>> = {
  none: [],
  // The two weeks of the measured year in which everybody doubled.
  field: [
    { month: '07', day: 1, days: 7, factor: 2 },
    { month: '10', day: 12, days: 7, factor: 2 },
  ],
  'first-week': [{ month: '07', day: 1, days: 7, factor: 2 }],
  'mid-month': [{ month: '07', day: 13, days: 7, factor: 2 }],
  'two-days': [{ month: '07', day: 15, days: 2, factor: 2.5 }],
  'three-weeks': [{ month: '07', day: 5, days: 21, factor: 1.8 }],
  'month-boundary': [{ month: '07', day: 28, days: 8, factor: 2 }],
  'half-the-tenants': [{ month: '07', day: 8, days: 7, factor: 2, share: 0.5 }],
  'fall-to-half': [{ month: '07', day: 6, days: 14, factor: 0.5 }],
  'step-that-stays': [{ month: '07', day: 2, days: null, factor: 1.6 }],
  'credits-times-ten': [{ month: '07', day: 10, days: null, factor: 10, isRecount: true }],
};

/** The name of the cause that adds tenants instead of changing usage. */
export const FREE_TENANTS = 'free-tenants';

export const CAUSE_NAMES: readonly string[] = [...Object.keys(CATALOGUE), FREE_TENANTS];

/** Returns the causes of one entry of the catalogue that begin inside the calendar. */
export function sharedCauses(name: string, calendar: Calendar): SharedCause[] {
  const dates = CATALOGUE[name];
  if (dates === undefined) throw new Error(`unknown cause "${name}": use one of ${CAUSE_NAMES.join(', ')}`);
  return dates.flatMap(({ month, day, days, factor, share = 1, isRecount = false }) =>
    calendar.months
      .filter(({ period }) => period.endsWith(`-${month}`))
      .map(({ firstDay }) => {
        const fromDay = firstDay + day - 1;
        const toDay = days === null ? calendar.days : Math.min(calendar.days, fromDay + days);
        return { name, fromDay, toDay, factor, share, isRecount };
      }),
  );
}

/** Spread of how strongly a shared cause reaches single tenants, as an exponent. */
const REACH_NOISE = 0.15;

/** Changes the usage of the tenants that a cause reaches. */
export function applySharedCause(cause: SharedCause, tenants: readonly Tenant[], random: Random): void {
  const { fromDay, toDay, factor, share, isRecount } = cause;
  for (const each of tenants) {
    if (random.next() >= share) continue;
    const own = isRecount ? factor : factor * random.noise(REACH_NOISE);
    for (let day = fromDay; day < toDay; day += 1) each.daily[day] = (each.daily[day] ?? 0) * own;
    if (isRecount) each.intensity = { fromDay, factor };
  }
}

/** Family of the tenants on a free plan: measures per tenant leave them out. */
export const FREE_FAMILY = 'free';
const FREE_COUNT = 5_000;
const FREE_WEEK_DAYS = 7;

/** 5,000 tenants on a free plan that appear within one week: most try the service for some days, a few use it for good. */
export function freeTenants(calendar: Calendar, period: Period, random: Random): Tenant[] {
  const firstDay = monthOf(calendar, period).firstDay + 4;
  return Array.from({ length: FREE_COUNT }, (_, n) => {
    const daily = new Float64Array(calendar.days);
    const begins = firstDay + random.integer(0, FREE_WEEK_DAYS - 1);
    const stays = random.next() < 0.1;
    const ends = stays ? calendar.days : begins + random.integer(1, 10);
    const usual = stays ? 5 + 40 * random.next() : 1 + 25 * random.next();
    for (let day = begins; day < Math.min(ends, calendar.days); day += 1) daily[day] = usual * random.noise(0.8);
    return tenant(`free-${n}`, FREE_FAMILY, daily);
  });
}
