import type { Calendar } from '../calendar.ts';
import type { Random } from '../random.ts';

/** How an intermittent tenant uses the service: on some days, with pauses that belong to it. */
export interface Habit {
  name: string;
  /** Credits of each day of the calendar. `size` is what an active month totals. */
  daily(size: number, calendar: Calendar, random: Random): Float64Array;
}

/** Noise of one active day and of one month or project, as exponents. */
const DAY_NOISE = 0.45;
const BOUT_NOISE = 0.35;

/** Four habits of intermittent tenants, and payers whose whole month happens on one day. */
export const HABITS: readonly Habit[] = [
  {
    name: 'few-days-a-month',
    daily(size, calendar, random) {
      const daily = new Float64Array(calendar.days);
      const usualDays = random.integer(2, 6);
      for (const { firstDay, length } of calendar.months) {
        const total = size * random.noise(BOUT_NOISE);
        const count = Math.max(1, usualDays + random.integer(-1, 1));
        for (let n = 0; n < count; n += 1) {
          add(daily, firstDay + random.integer(0, length - 1), (total / usualDays) * random.noise(DAY_NOISE));
        }
      }
      return daily;
    },
  },
  {
    name: 'burst-every-few-weeks',
    daily(size, calendar, random) {
      const daily = new Float64Array(calendar.days);
      const usualPause = random.integer(18, 40);
      for (let day = random.integer(0, usualPause); day < calendar.days; ) {
        const length = random.integer(1, 4);
        const total = size * random.noise(BOUT_NOISE);
        for (let n = 0; n < length; n += 1) add(daily, day + n, (total / length) * random.noise(DAY_NOISE));
        day += length + Math.round(usualPause * (0.6 + 0.8 * random.next()));
      }
      return daily;
    },
  },
  {
    name: 'one-month-in-three',
    daily(size, calendar, random) {
      const daily = new Float64Array(calendar.days);
      const phase = random.integer(0, 2);
      for (const [index, { firstDay, length }] of calendar.months.entries()) {
        if (index % 3 !== phase) continue;
        const total = size * random.noise(BOUT_NOISE);
        const begins = random.integer(0, 8);
        const ends = length - random.integer(0, 8);
        for (let n = begins; n < ends; n += 1) {
          if (random.next() < 0.6) add(daily, firstDay + n, (total / 14) * random.noise(DAY_NOISE));
        }
      }
      return daily;
    },
  },
  {
    name: 'project-work',
    daily(size, calendar, random) {
      const daily = new Float64Array(calendar.days);
      for (let day = random.integer(0, 60); day < calendar.days; ) {
        const length = random.integer(8, 35);
        const aDay = (size / 20) * random.noise(BOUT_NOISE);
        for (let n = 0; n < length; n += 1) {
          if (random.next() < 0.7) add(daily, day + n, aDay * random.noise(DAY_NOISE));
        }
        day += length + random.integer(20, 75);
      }
      return daily;
    },
  },
  {
    name: 'one-day-a-month',
    daily(size, calendar, random) {
      const daily = new Float64Array(calendar.days);
      const usualDay = random.integer(1, 26);
      // Half of them began before the calendar, the others within its first nine months.
      const first = random.next() < 0.5 ? 0 : random.integer(2, 9);
      for (const { firstDay, length } of calendar.months.slice(first)) {
        const day = Math.min(length - 1, Math.max(0, usualDay - 1 + random.integer(-1, 2)));
        add(daily, firstDay + day, size * random.noise(0.15));
      }
      return daily;
    },
  },
];

function add(daily: Float64Array, day: number, credits: number): void {
  if (day < daily.length) daily[day] = (daily[day] ?? 0) + credits;
}
