import { periodFromIndex, periodIndex } from '../../../../src/core/period.ts';
import { DAY_MS } from '../calendar.ts';
import { limitOf, middleGrowth, type OracleSettings, thresholdOf } from '../oracle/month-rules.ts';
import { boundsOf, Seen, type TenantSeen, valueAt } from '../oracle/seen.ts';
import type { ServiceRecord } from '../service.ts';

/** What one run was answered. */
export interface Answer {
  atMs: number;
  from: string;
  records: readonly ServiceRecord[];
}

/** What a reader of messages holds them against. */
export interface TruthOrder extends OracleSettings {
  lookback: number;
  /** When a month was closed, by its index; null: never. */
  closedAtMs: (month: number) => number | null;
  /** Up to what people planned growth of a tenant in a month. */
  plansOf: (tenant: string, month: number) => readonly number[];
}

/** A run that ends just after midnight has read the day before. */
const TOLERANCE_MS = 30 * 60_000;

/** What is so, by the service's answers alone: nothing here comes from the program or from its ledger. */
export class Truth {
  readonly seen = new Seen();
  readonly order: TruthOrder;
  readonly #requests = new Map<string, number>();
  /** What months had come to when they had settled, and when they were closed. */
  readonly #stated = new Map<number, { settled: Map<string, number>; closed: Map<string, number> | null }>();

  constructor(order: TruthOrder) {
    this.order = order;
  }

  take({ atMs, from, records }: Answer): void {
    for (const [month, stated] of this.#stated) {
      const closedMs = this.order.closedAtMs(month);
      if (stated.closed === null && closedMs !== null && atMs >= closedMs) stated.closed = this.#snapshot(month);
    }
    this.seen.take(atMs, from, records);
    for (const { tenantId, period, requests } of records) this.#requests.set(`${tenantId} ${period}`, requests);
    for (let month = periodIndex(from); boundsOf(month)[1] <= atMs; month += 1) {
      if (!this.#stated.has(month) && this.hasSettled(month))
        this.#stated.set(month, { settled: this.#snapshot(month), closed: null });
    }
  }

  get nowMs(): number {
    return this.seen.nowMs;
  }

  /** Null stands for the workspace. */
  credits(tenant: string | null, month: number): number {
    if (tenant !== null) return this.#creditsOf(this.seen.tenants.get(tenant), month);
    return [...this.seen.tenants.values()].reduce((sum, each) => sum + this.#creditsOf(each, month), 0);
  }

  requests(tenant: string | null, month: number): number {
    const of = (each: TenantSeen): number =>
      each.months.get(month)?.withdrawn === false
        ? (this.#requests.get(`${each.id} ${periodFromIndex(month)}`) ?? 0)
        : 0;
    const all = [...this.seen.tenants.values()].filter(({ id }) => tenant === null || id === tenant);
    return all.reduce((sum, each) => sum + of(each), 0);
  }

  /** The limit of a month; null where there is nothing to compare with. */
  limit(tenant: string | null, month: number): number | null {
    if (tenant === null) return thresholdOf(this.credits(null, month - 1), this.order);
    const own = this.seen.tenants.get(tenant);
    return own === undefined ? null : limitOf(this.seen, own, month, this.order);
  }

  /** The first day of a month, by its number, by whose end a reading had come to so many credits; null without one. */
  reachedBy(tenant: string | null, month: number, credits: number): number | null {
    const [startMs, endMs] = boundsOf(month);
    const read = this.seen.runsMs.find((atMs) => this.creditsAt(tenant, month, atMs) >= credits);
    if (read === undefined) return null;
    return Math.floor((Math.min(Math.max(read - TOLERANCE_MS, startMs), endMs - 1) - startMs) / DAY_MS) + 1;
  }

  creditsAt(tenant: string | null, month: number, atMs: number): number {
    const of = (each: TenantSeen) => valueAt(each.months.get(month), atMs);
    if (tenant !== null) return valueAt(this.seen.tenants.get(tenant)?.months.get(month), atMs);
    return [...this.seen.tenants.values()].reduce((sum, each) => sum + of(each), 0);
  }

  /** What a tenant's figure changed by last in these months, and when. */
  lastChange(tenant: string, from: number, to: number): { atMs: number; by: number } | null {
    const changes: { atMs: number; by: number }[] = [];
    for (let month = from; month <= to; month += 1) changes.push(...this.changes(tenant, month));
    return changes.sort((a, b) => a.atMs - b.atMs).at(-1) ?? null;
  }

  /** All that a tenant's figure of a month changed by. */
  changes(tenant: string, month: number): { atMs: number; by: number }[] {
    const { at = [], credits = [] } = this.seen.tenants.get(tenant)?.months.get(month) ?? {};
    return at.map((atMs, index) => ({ atMs, by: (credits[index] ?? 0) - (credits[index - 1] ?? 0) }));
  }

  isWithdrawn(tenant: string, month: number): boolean {
    return this.seen.tenants.get(tenant)?.months.get(month)?.withdrawn === true;
  }

  isOver(month: number): boolean {
    return this.nowMs >= boundsOf(month)[1];
  }

  hasSettled(month: number): boolean {
    return this.nowMs >= boundsOf(month)[1] + this.order.settleHours * 3_600_000;
  }

  isClosed(month: number): boolean {
    const closedMs = this.order.closedAtMs(month);
    return closedMs !== null && this.nowMs > closedMs;
  }

  /** What a month had been closed with, or else had settled at. */
  stated(tenant: string, month: number, how: 'closed' | 'settled'): number | null {
    const stated = this.#stated.get(month);
    const own = how === 'closed' ? stated?.closed : stated?.settled;
    return own == null ? null : (own.get(tenant) ?? 0);
  }

  /** Tenants that there is something to say of in a month. */
  tenantsIn(month: number): number {
    const all = [...this.seen.tenants.values()];
    const had = all.filter((each) => this.#creditsOf(each, month - 1) > 0).length;
    return Math.max(had, all.filter(({ months }) => months.has(month)).length);
  }

  /** By how many times more than half of the tenants of the month before have grown so far. */
  middleGrowth(month: number): number {
    return middleGrowth(this.seen, month);
  }

  /** How many times what has passed of a month all of it is. */
  timesLeft(month: number): number {
    const [startMs, endMs] = boundsOf(month);
    return (endMs - startMs) / Math.max(1, Math.min(this.nowMs, endMs) - startMs);
  }

  /** Tenants that are over their limit in a month. */
  overLimit(month: number): string[] {
    return [...this.seen.tenants.keys()].filter((tenant) => {
      const limit = this.limit(tenant, month);
      return limit !== null && this.credits(tenant, month) >= limit;
    });
  }

  #creditsOf(tenant: TenantSeen | undefined, month: number): number {
    return tenant === undefined ? 0 : this.seen.credits(tenant, month);
  }

  #snapshot(month: number): Map<string, number> {
    return new Map([...this.seen.tenants.values()].map((tenant) => [tenant.id, this.seen.credits(tenant, month)]));
  }
}
