import { type Calendar, weekdayOf } from '../calendar.ts';
import { type Tenant, tenant } from '../population.ts';
import type { Random } from '../random.ts';
import { HABITS } from './habits.ts';

/** The tenants of a reseller as they were found in the field, in shares of all: what remains is steady. */
const SHARES = { intermittent: 0.07, tiny: 0.12, newcomer: 0.06, returning: 0.025, renamed: 0.015, churned: 0.02 };

/** Families of tenants that are intermittent by nature. */
export const INTERMITTENT_FAMILIES: ReadonlySet<string> = new Set(HABITS.map(({ name }) => name));

/** Draws about `count` tenants: steady ones with lives of their own, and those that come, go, pause and change their id. */
export function createFieldPopulation(calendar: Calendar, count: number, random: Random): Tenant[] {
  const numberOf = (share: number) => Math.max(1, Math.round(count * share));
  const tenants: Tenant[] = [];
  const add = (family: string, number: number, daily: (n: number) => Float64Array) => {
    for (let n = 0; n < number; n += 1) tenants.push(tenant(`${family}-${n}`, family, daily(n)));
  };
  for (const [place, habit] of HABITS.entries()) {
    const all = numberOf(SHARES.intermittent);
    const own = Math.floor((all + place) / HABITS.length);
    add(habit.name, Math.max(1, own), () => habit.daily(sizeOf(random), calendar, random));
  }
  add('tiny', numberOf(SHARES.tiny), () => steadyUse(40 + 450 * random.next(), calendar, random));
  add('newcomer', numberOf(SHARES.newcomer), () => newcomerUse(calendar, random));
  add('returning', numberOf(SHARES.returning), () => returningUse(calendar, random));
  add('churned', numberOf(SHARES.churned), () => {
    const leaves = someDay(calendar, random);
    return steadyUse(sizeOf(random), calendar, random).map((credits, day) => (day < leaves ? credits : 0));
  });
  for (let n = 0; n < numberOf(SHARES.renamed); n += 1) {
    const use = steadyUse(sizeOf(random), calendar, random);
    const changes = someDay(calendar, random);
    const until = use.map((credits, day) => (day < changes ? credits : 0));
    tenants.push(tenant(`old-id-${n}`, 'renamed', until));
    tenants.push(
      tenant(
        `new-id-${n}`,
        'renamed',
        use.map((credits, day) => credits - (until[day] ?? 0)),
      ),
    );
  }
  add('steady', Math.max(1, count - tenants.length), () => livedUse(calendar, random));
  return tenants;
}

/** Credits of a usual month: most between 4,000 and 200,000, a few above a million. */
function sizeOf(random: Random): number {
  return Math.min(3_000_000, Math.max(400, 60_000 * random.noise(1.3)));
}

/** A day on which something may begin: the tenant has been read for two months, and its effect can be seen to the end. */
function someDay(calendar: Calendar, random: Random): number {
  return random.integer(Math.min(100, Math.floor(calendar.days / 2)), Math.max(101, calendar.days - 40));
}

/** Use with a weekday shape, noise of days, a slow drift and growth, without events. */
function steadyUse(size: number, calendar: Calendar, random: Random): Float64Array {
  const weekend = pick(random, [
    [0.3, 1],
    [0.35, 0.05 + 0.1 * random.next()],
    [0.35, 0.3 + 0.5 * random.next()],
  ]);
  const dayNoise = pick(random, [
    [0.3, 0.08],
    [0.45, 0.22],
    [0.25, 0.5],
  ]);
  const monthly = pick(random, [
    [0.55, 1 + 0.04 * random.next()],
    [0.3, 1],
    [0.15, 0.97],
  ]);
  // Some live by the calendar: an invoice run on the first days, a close at the end, a month before Christmas.
  const shape = pick(random, [
    [0.8, 'even'],
    [0.06, 'front'],
    [0.06, 'back'],
    [0.04, 'quarter'],
    [0.04, 'december'],
  ]);
  const daily = new Float64Array(calendar.days);
  let drift = 0;
  for (const { period, firstDay, length } of calendar.months) {
    const month = Number(period.slice(5));
    for (let place = 0; place < length; place += 1) {
      const day = firstDay + place;
      drift = 0.95 * drift + random.normal(0.03);
      const isWeekend = [0, 6].includes(weekdayOf(calendar, day));
      const growth = monthly ** (day / 30.4);
      const noise = random.noise(dayNoise) * Math.exp(drift);
      daily[day] =
        (size / 30.4) * (isWeekend ? weekend : 1) * growth * noise * weightOf(shape, { month, place, length });
    }
  }
  return daily;
}

function weightOf(shape: string, { month, place, length }: { month: number; place: number; length: number }): number {
  if (shape === 'front') return place < 3 ? 4 : 0.8;
  if (shape === 'back') return place >= length - 3 ? 4 : 0.8;
  if (shape === 'quarter') return month % 3 === 0 && place >= length - 7 ? 2.5 : 1;
  if (shape === 'december') return month === 12 ? 2 : month === 11 ? 1.25 : 1;
  return 1;
}

const DAYS_A_YEAR = 365;
/** How often a steady tenant meets each kind of event, in a year. */
const EVENTS = { level: 0.27, burst: 0.2, pause: 0.05 };

/** Steady use in which the level changes, single bursts come and short pauses happen, as chance has it. */
function livedUse(calendar: Calendar, random: Random): Float64Array {
  const daily = steadyUse(sizeOf(random), calendar, random);
  const change = (first: number, last: number, factorOn: (n: number) => number) => {
    for (let day = first; day < Math.min(last, calendar.days); day += 1) {
      daily[day] = (daily[day] ?? 0) * factorOn(day - first);
    }
  };
  for (let day = 60; day < calendar.days; day += 1) {
    if (random.next() < EVENTS.level / DAYS_A_YEAR) {
      const factor = pick(random, [
        [0.4, 0.45 + 0.35 * random.next()],
        [0.25, 1.3 + 0.3 * random.next()],
        [0.35, 1.6 + 2.4 * random.next() ** 2],
      ]);
      const rampDays = random.next() < 0.7 ? 1 : random.integer(5, 20);
      change(day, calendar.days, (n) => 1 + (factor - 1) * Math.min(1, (n + 1) / rampDays));
    }
    if (random.next() < EVENTS.burst / DAYS_A_YEAR) {
      const factor = 2 + 5 * random.next() ** 2;
      change(day, day + random.integer(1, 9), () => factor);
    }
    if (random.next() < EVENTS.pause / DAYS_A_YEAR) change(day, day + random.integer(3, 14), () => 0);
  }
  return daily;
}

/** A tenant that begins within the year: at once, growing for some weeks, or trying little before real use. */
function newcomerUse(calendar: Calendar, random: Random): Float64Array {
  const begins = someDay(calendar, random);
  const way = pick(random, [
    [0.4, 'at once'],
    [0.35, 'growing'],
    [0.25, 'trial'],
  ]);
  const trialDays = random.integer(5, 40);
  const rampDays = random.integer(10, 60);
  return steadyUse(sizeOf(random), calendar, random).map((credits, day) => {
    const age = day - begins;
    if (age < 0) return 0;
    if (way === 'growing') return credits * Math.min(1, (age + 1) / rampDays);
    return way === 'trial' && age < trialDays ? Math.min(credits, 20 * random.noise(0.5)) : credits;
  });
}

/** Steady use with one or two pauses of five to twelve weeks; it comes back at about the level that it left. */
function returningUse(calendar: Calendar, random: Random): Float64Array {
  const daily = steadyUse(sizeOf(random), calendar, random);
  for (let day = random.integer(60, 160); day < calendar.days; day += random.integer(150, 260)) {
    const length = random.integer(35, 85);
    const level = 0.6 + 0.9 * random.next();
    for (let n = 0; n < daily.length - day; n += 1) daily[day + n] = (daily[day + n] ?? 0) * (n < length ? 0 : level);
  }
  return daily;
}

/** One of several values, each with its probability. */
function pick<T>(random: Random, choices: readonly (readonly [number, T])[]): T {
  let rest = random.next();
  for (const [probability, value] of choices) {
    rest -= probability;
    if (rest < 0) return value;
  }
  return (choices.at(-1) as readonly [number, T])[1];
}
