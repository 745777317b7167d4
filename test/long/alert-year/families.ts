import { type Calendar, type Month, weekdayOf } from './calendar.ts';
import type { Random } from './random.ts';

/** How the tenants of a family use credits. A month's total is the tenant's usual one times the noise of the month. */
export interface Family {
  name: string;
  /** Standard deviations of the noise of a month and of a day, as exponents. */
  monthNoise: number;
  dayNoise: number;
  /** What a day weighs in its month, before noise; `own` is drawn once a tenant and month. */
  weight(day: number, month: Month, own: number): number;
  /** What a month weighs beside the others. */
  month?(index: number): number;
  /** Credits of a usual month: from, to. */
  size?: [number, number];
}

const isWeekend = (weekday: number): boolean => weekday === 0 || weekday === 6;

/** Months of the year, from 0, and what they weigh for tenants that live by the quarter. */
const QUARTER_END = [2, 5, 8, 11];

/** Twelve ways of using a service all year; those that come and go are made of even ones, see population.ts. */
export function createFamilies(calendar: Calendar): Family[] {
  const weekday = (day: number) => weekdayOf(calendar, day);
  return [
    { name: 'even', monthNoise: 0.06, dayNoise: 0.2, weight: () => 1 },
    {
      ...{ name: 'weekdays', monthNoise: 0.06, dayNoise: 0.2 },
      weight: (day) => (isWeekend(weekday(day)) ? 0.03 : 1),
    },
    {
      ...{ name: 'front', monthNoise: 0.06, dayNoise: 0.2 },
      // An invoice run on the first day, or a head start of four days: each tenant has its own way.
      weight: (day, { firstDay }, own) => {
        const place = day - firstDay;
        if (own < 0.5) return place === 0 ? 12 : 1;
        return place < 4 ? 5 : 1;
      },
    },
    {
      ...{ name: 'back', monthNoise: 0.06, dayNoise: 0.2 },
      weight: (day, { firstDay, length }) => (day - firstDay >= length - 3 ? 12 : 1),
    },
    {
      ...{ name: 'mid', monthNoise: 0.06, dayNoise: 0.2 },
      weight: (day, { firstDay }) => ([13, 14, 15].includes(day - firstDay) ? 10 : 1),
    },
    { name: 'always-on', monthNoise: 0.01, dayNoise: 0.03, weight: () => 1 },
    {
      ...{ name: 'sporadic', monthNoise: 0.15, dayNoise: 0.5 },
      // Some five days a month, others each month.
      weight: (day, { firstDay }, own) => (hash(own * 1e6 + day - firstDay) < 0.17 ? 1 : 0),
    },
    { name: 'tiny', monthNoise: 0.1, dayNoise: 0.4, weight: () => 1, size: [40, 500] },
    {
      ...{ name: 'seasonal', monthNoise: 0.06, dayNoise: 0.2, weight: () => 1 },
      month: (index) => (index === 11 ? 2.2 : index === 10 ? 1.25 : 1),
    },
    { name: 'growing', monthNoise: 0.03, dayNoise: 0.1, weight: () => 1 },
    { name: 'noisy', monthNoise: 0.22, dayNoise: 0.6, weight: () => 1 },
    {
      ...{ name: 'quarterly', monthNoise: 0.06, dayNoise: 0.2 },
      weight: (day, { firstDay, length, period }) =>
        QUARTER_END.includes(Number(period.slice(5)) - 1) && day - firstDay >= length - 7 ? 2.5 : 1,
      month: (index) => (QUARTER_END.includes(index) ? 1.35 : 1),
    },
  ];
}

/** Growth a month of the family `growing`. */
export const GROWTH = 1.03;

/** Credits of each day of a tenant of this family. `usual` is what it uses in a usual month. */
export function dailyCredits(family: Family, usual: number, calendar: Calendar, random: Random): Float64Array {
  const daily = new Float64Array(calendar.days);
  const manner = random.next();
  for (const [index, month] of calendar.months.entries()) {
    const own = family.name === 'sporadic' ? random.next() : manner;
    const weights = Array.from({ length: month.length }, (_, place) =>
      family.weight(month.firstDay + place, month, own),
    );
    const sum = weights.reduce((total, weight) => total + weight, 0) || 1;
    const growth = family.name === 'growing' ? GROWTH ** index : 1;
    // A longer month is used for longer.
    const total = (usual * (family.month?.(Number(month.period.slice(5)) - 1) ?? 1) * growth * month.length) / 30.4;
    const wanted = total * random.noise(family.monthNoise);
    for (const [place, weight] of weights.entries()) {
      daily[month.firstDay + place] = (wanted * weight * random.noise(family.dayNoise)) / sum;
    }
  }
  return daily;
}

/** A number from 0 to 1 that looks like chance and is the same for the same. */
function hash(value: number): number {
  const x = Math.sin(value * 12.9898) * 43_758.5453;
  return x - Math.floor(x);
}
