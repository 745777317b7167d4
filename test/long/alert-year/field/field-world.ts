import { addPeriods, type Period, periodAt, periodStartMs } from '../../../../src/core/period.ts';
import { createCalendar, DAY_MS } from '../calendar.ts';
import { createRandom } from '../random.ts';
import { Service } from '../service.ts';
import type { World } from '../world.ts';
import { createFieldPopulation } from './field-population.ts';
import { applySharedCause, FREE_TENANTS, freeTenants, type SharedCause, sharedCauses } from './shared-causes.ts';

export interface FieldOrder {
  seed: number;
  /** Tenants, without free ones. */
  tenants: number;
  /** The first month that the service knows. The first run is on its 49th day. */
  from: Period;
  /** Days from the first run to the last. */
  days: number;
  /** Names of shared causes, see `CAUSE_NAMES`. */
  causes: readonly string[];
}

/** A world like the field, with the causes that its tenants share. */
export type FieldWorld = World & { causes: readonly SharedCause[] };

/** The measured year: 230 tenants, 410 days, two weeks in which everybody doubled. */
export const FIELD_YEAR: Omit<FieldOrder, 'seed'> = {
  tenants: 230,
  from: '2025-10',
  days: 410,
  causes: ['field'],
};

const HOUR_MS = 3_600_000;
const DAYS_BEFORE_FIRST_RUN = 48;
/** Of three runs a day, this share is missing. */
const MISSING_RUNS = 0.025;

/** Draws a world: three runs a day of which some are missing; nobody plans, silences or closes anything. */
export function createFieldWorld({ seed, tenants: count, from, days, causes: names }: FieldOrder): FieldWorld {
  const random = createRandom(seed);
  const firstMs = periodStartMs(from) + DAYS_BEFORE_FIRST_RUN * DAY_MS;
  const endMs = firstMs + days * DAY_MS;
  const calendar = createCalendar(from, addPeriods(periodAt(endMs - 1), 1));
  const tenants = createFieldPopulation(calendar, count, random);
  const causes = names
    .filter((name) => name !== FREE_TENANTS)
    .flatMap((name) => sharedCauses(name, calendar))
    .filter(({ fromDay }) => fromDay >= DAYS_BEFORE_FIRST_RUN);
  for (const cause of causes) applySharedCause(cause, tenants, random);
  if (names.includes(FREE_TENANTS)) tenants.push(...freeTenants(calendar, addPeriods(from, 4), random));
  const runsMs: number[] = [];
  for (let atMs = firstMs; atMs < endMs; atMs += 8 * HOUR_MS) {
    if (random.next() >= MISSING_RUNS) runsMs.push(atMs + random.integer(0, 1_800_000));
  }
  return {
    ...{ calendar, tenants, causes, runsMs },
    incidents: { tenants: [], planted: [], bulges: [], runaways: [], plans: [], silences: [], closedTo: '0000-00' },
    service: new Service(calendar, tenants),
    judgedFrom: addPeriods(from, 3),
  };
}
