import { type Period, periodEndMs, periodFromIndex, periodIndex, periodStartMs } from '../../../../src/core/period.ts';
import { DAY_MS } from '../calendar.ts';
import type { ServiceRecord } from '../service.ts';

/** A reading speaks for a moment this much later, as documentation has it. */
const READING_LASTS_MS = 36 * 3_600_000;

/** What runs have read of one tenant in one month. Credits are whole numbers far below 2^53. */
export interface MonthSeen {
  firstSeenMs: number;
  /** The first run of all saw it: nobody knows since when it was used. */
  byFirstRun: boolean;
  /** When it changed, and to what; in order. */
  at: number[];
  credits: number[];
  /** Runs in a row that did not list it. */
  absent: number;
  withdrawn: boolean;
}

export interface TenantSeen {
  id: string;
  /** Its first month, by index. */
  first: number;
  months: Map<number, MonthSeen>;
}

/** Everything that the runs up to now have read: kept here without the ledger, from the answers of the service alone. */
export class Seen {
  readonly tenants = new Map<string, TenantSeen>();
  /** When runs read the service, in order. */
  readonly runsMs: number[] = [];
  firstMonth = Number.POSITIVE_INFINITY;
  nowMs = 0;

  /** Takes in what a run has read of the months from `from` on; returns the keys whose credits it has changed. */
  take(atMs: number, from: Period, records: readonly ServiceRecord[]): Change[] {
    const isFirst = this.runsMs.length === 0;
    this.runsMs.push(atMs);
    this.nowMs = atMs;
    const changes: Change[] = [];
    const listed = new Set<MonthSeen>();
    for (const { tenantId, period, credits } of records) {
      const month = periodIndex(period);
      this.firstMonth = Math.min(this.firstMonth, month);
      const tenant = this.#tenant(tenantId, month);
      const known = tenant.months.get(month);
      const own = known ?? { firstSeenMs: atMs, byFirstRun: isFirst, at: [], credits: [], absent: 0, withdrawn: false };
      tenant.months.set(month, own);
      tenant.first = Math.min(tenant.first, month);
      listed.add(own);
      own.absent = 0;
      own.withdrawn = false;
      const before = known === undefined ? null : creditsOf(known);
      if (before === credits) continue;
      own.at.push(atMs);
      own.credits.push(credits);
      changes.push({ tenant, month, before, withdrawn: false });
    }
    for (const tenant of this.tenants.values()) {
      for (let month = periodIndex(from); ; month += 1) {
        if (periodStartMs(periodFromIndex(month)) > atMs) break;
        const own = tenant.months.get(month);
        if (own === undefined || listed.has(own) || own.withdrawn) continue;
        own.absent += 1;
        if (own.absent < 2) continue;
        const before = creditsOf(own);
        own.withdrawn = true;
        own.at.push(atMs);
        own.credits.push(0);
        changes.push({ tenant, month, before, withdrawn: true });
      }
    }
    return changes;
  }

  /** Credits of a month as they stand now. */
  credits(tenant: TenantSeen, month: number): number {
    const own = tenant.months.get(month);
    return own === undefined ? 0 : creditsOf(own);
  }

  /** Credits of a month up to a moment; as used evenly between readings that lie far apart; null before the first. */
  reading(tenant: TenantSeen, month: number, atMs: number): number | null {
    const [startMs, endMs] = boundsOf(month);
    if (atMs <= startMs) return 0;
    if (atMs >= this.nowMs || atMs >= endMs) return this.credits(tenant, month);
    const run = this.#runBefore(atMs);
    if (run === null) return null;
    const before = valueAt(tenant.months.get(month), run);
    if (atMs - run <= READING_LASTS_MS) return before;
    const later = this.runsMs.find((each) => each > atMs) ?? this.nowMs;
    const [from, to] = [Math.max(run, startMs), Math.min(later, endMs)];
    const after = valueAt(tenant.months.get(month), later);
    return to <= from ? before : before + ((after - before) * (atMs - from)) / (to - from);
  }

  /** Credits used between two moments, across months; null where nothing had been read. */
  used(tenant: TenantSeen, fromMs: number, toMs: number): number | null {
    const [first, last] = [monthAt(fromMs), monthAt(toMs)];
    const [start, end] = [this.reading(tenant, first, fromMs), this.reading(tenant, last, toMs)];
    if (start === null || end === null) return null;
    let between = 0;
    for (let month = first; month < last; month += 1) between += this.credits(tenant, month);
    return Math.max(0, between + end - start);
  }

  #tenant(id: string, month: number): TenantSeen {
    const known = this.tenants.get(id) ?? { id, first: month, months: new Map() };
    this.tenants.set(id, known);
    return known;
  }

  #runBefore(atMs: number): number | null {
    const place = countUpTo(this.runsMs, atMs);
    return place === 0 ? null : (this.runsMs[place - 1] ?? null);
  }
}

/** A month of a tenant that a run has changed; `before` is null for a new record. */
export interface Change {
  tenant: TenantSeen;
  month: number;
  before: number | null;
  withdrawn: boolean;
}

export function creditsOf({ credits }: MonthSeen): number {
  return credits.at(-1) ?? 0;
}

export function valueAt(own: MonthSeen | undefined, atMs: number): number {
  if (own === undefined) return 0;
  const place = countUpTo(own.at, atMs);
  return place === 0 ? 0 : (own.credits[place - 1] ?? 0);
}

export function boundsOf(month: number): [number, number] {
  const known = bounds.get(month);
  if (known !== undefined) return known;
  const period = periodFromIndex(month);
  const found: [number, number] = [periodStartMs(period), periodEndMs(period)];
  bounds.set(month, found);
  return found;
}

const bounds = new Map<number, [number, number]>();

/** The month of a moment, by index; each day is looked up once. */
export function monthAt(atMs: number): number {
  const day = Math.floor(atMs / DAY_MS);
  const month = monthsOfDays.get(day) ?? periodIndex(new Date(atMs).toISOString().slice(0, 7));
  monthsOfDays.set(day, month);
  return month;
}

const monthsOfDays = new Map<number, number>();

export function daysOf(month: number): number {
  const [startMs, endMs] = boundsOf(month);
  return (endMs - startMs) / DAY_MS;
}

/** How many of the ascending numbers are not above one. */
function countUpTo(ascending: readonly number[], value: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
