import { addPeriods, type Period, periodStartMs } from '../../../src/core/period.ts';
import { type Calendar, createCalendar, DAY_MS } from './calendar.ts';
import { type Incidents, plantIncidents } from './incidents.ts';
import { createPopulation, type Tenant } from './population.ts';
import { createRandom, type Random } from './random.ts';
import { Service } from './service.ts';

export interface WorldOrder {
  seed: number;
  /** Tenants of each family. */
  each: number;
  /** The first month that the service knows, and the last one. */
  from: Period;
  to: Period;
}

/** A service with its tenants, and the moments at which the ledger asks it. */
export interface World {
  calendar: Calendar;
  tenants: Tenant[];
  incidents: Incidents;
  service: Service;
  /** When runs happen, in order. The first one is in the middle of the second month. */
  runsMs: number[];
  /** The first month whose alerts are judged: the fourth, when tenants have a past. */
  judgedFrom: Period;
}

const HOUR_MS = 3_600_000;

/** Three runs a day, of which one in twenty is missing, and an outage of ten days. */
export function createWorld({ seed, each, from, to }: WorldOrder): World {
  const random = createRandom(seed);
  const calendar = createCalendar(from, to);
  const tenants = createPopulation(calendar, each, random);
  const incidents = plantIncidents(calendar, tenants, random);
  tenants.push(...incidents.tenants);
  const outage = outageOf(calendar, incidents, random);
  const runsMs: number[] = [];
  // Of the last month only the days in which the one before it settles.
  const endMs = periodStartMs(to) + 6 * DAY_MS;
  const firstMs = calendar.startMs + 45 * DAY_MS;
  for (let atMs = firstMs; atMs < endMs; atMs += 8 * HOUR_MS) {
    const isOut = outage !== null && atMs >= outage.fromMs && atMs < outage.toMs;
    if (!isOut && random.next() >= 0.05) runsMs.push(atMs + random.integer(0, 600_000));
  }
  const judgedFrom = calendar.months[3]?.period ?? from;
  return { calendar, tenants, incidents, service: new Service(calendar, tenants), runsMs, judgedFrom };
}

/** From the 11th to the 21st of a month that no bulge is near. */
function outageOf({ months }: Calendar, { bulges, planted }: Incidents, random: Random) {
  const near = new Set(bulges.flatMap(({ period }) => [-1, 0, 1].map((by) => addPeriods(period, by))));
  const taken = new Set(planted.map(({ period }) => period));
  const free = months.slice(4, -2).filter(({ period }) => !near.has(period));
  if (free.length < 4) return null;
  const calm = free.filter(({ period }) => !taken.has(period));
  const list = calm.length > 0 ? calm : free;
  const { period } = list[random.integer(0, list.length - 1)] as (typeof list)[0];
  const fromMs = periodStartMs(period) + 10 * DAY_MS;
  return { period, fromMs, toMs: fromMs + 10 * DAY_MS };
}
