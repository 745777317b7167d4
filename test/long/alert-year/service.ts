import { type Period, periodEndMs, periodStartMs } from '../../../src/core/period.ts';
import { type Calendar, DAY_MS, monthOf } from './calendar.ts';
import { CREDITS_A_REQUEST, type Tenant } from './population.ts';

/** What the service says of a tenant in a month. */
export interface ServiceRecord {
  tenantId: string;
  period: Period;
  credits: number;
  requests: number;
}

/** The service at work: counters that only depend on the moment they are asked at. */
export class Service {
  readonly #calendar: Calendar;
  readonly #tenants: readonly Counted[];

  constructor(calendar: Calendar, tenants: readonly Tenant[]) {
    this.#calendar = calendar;
    this.#tenants = tenants.map((tenant) => ({ tenant, ...prefixSums(tenant) }));
  }

  /** The records of a month as they are at a moment, by tenant. */
  list(period: Period, nowMs: number): ServiceRecord[] {
    const month = this.#monthAt(period, nowMs);
    return this.#tenants.flatMap((counted) => recordOf(counted, month) ?? []);
  }

  /** Credits of a month when nothing of it is to come any more. */
  finalCredits(tenant: string, period: Period): number {
    const found = this.#tenants.find((each) => each.tenant.id === tenant);
    if (found === undefined) throw new Error(`there is no ${tenant}`);
    return recordOf(found, this.#monthAt(period, Number.POSITIVE_INFINITY))?.credits ?? 0;
  }

  #monthAt(period: Period, nowMs: number): MonthAt {
    const { firstDay, length } = monthOf(this.#calendar, period);
    const startMs = periodStartMs(period);
    const elapsed = Math.min(length, (Math.min(nowMs, periodEndMs(period)) - startMs) / DAY_MS);
    return { period, nowMs, from: firstDay, to: firstDay + elapsed };
  }
}

/** A month up to a moment, in days of the calendar. */
interface MonthAt {
  period: Period;
  nowMs: number;
  from: number;
  to: number;
}

interface Counted {
  tenant: Tenant;
  credits: Float64Array;
  requests: Float64Array;
}

function recordOf({ tenant, credits, requests }: Counted, { period, nowMs, from, to }: MonthAt): ServiceRecord | null {
  if (tenant.withdrawn.some((gone) => gone.period === period && nowMs >= gone.fromMs)) return null;
  const used = between(credits, from, to);
  const isZero = tenant.zeroFrom !== null && period >= tenant.zeroFrom;
  if (used < 1) return isZero ? { tenantId: tenant.id, period, credits: 0, requests: 0 } : null;
  let corrected = used;
  for (const { period: about, fromMs, untilMs, credits: change } of tenant.corrections) {
    if (about === period && nowMs >= fromMs && (untilMs === null || nowMs < untilMs)) corrected += change;
  }
  return {
    ...{ tenantId: tenant.id, period, credits: Math.max(0, Math.floor(corrected)) },
    requests: Math.floor(between(requests, from, to)),
  };
}

/** What has been used before each day, from the first one on. */
function prefixSums({ daily, intensity }: Tenant): { credits: Float64Array; requests: Float64Array } {
  const credits = new Float64Array(daily.length + 1);
  const requests = new Float64Array(daily.length + 1);
  daily.forEach((used, day) => {
    const factor = intensity !== null && day >= intensity.fromDay ? intensity.factor : 1;
    credits[day + 1] = (credits[day] ?? 0) + used;
    requests[day + 1] = (requests[day] ?? 0) + used / factor / CREDITS_A_REQUEST;
  });
  return { credits, requests };
}

/** What lies between two moments, in days; within a day it is used evenly. */
function between(sums: Float64Array, from: number, to: number): number {
  return at(sums, to) - at(sums, from);
}

function at(sums: Float64Array, day: number): number {
  const whole = Math.min(Math.floor(day), sums.length - 1);
  const before = sums[whole] ?? 0;
  return before + ((sums[whole + 1] ?? before) - before) * (day - whole);
}
