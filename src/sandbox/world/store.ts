import type { WallClock } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import { type Period, parsePeriod, periodAt, periodRange } from '../../core/period.ts';
import { generatedTenantId, hash32, type PeriodReader, type UsageGenerator } from './generate.ts';

/** One usage record of the sandbox. Numbers must be safe integers; use bigint above 2^53. */
export interface SandboxRecord {
  tenantId: string;
  period: Period;
  credits: number | bigint;
  requests: number | bigint;
}

export type Usage = Pick<SandboxRecord, 'credits' | 'requests'>;

/** A slice of a listing. Null means no bound. `limit` may be Infinity. */
export interface ListingQuery {
  from: Period | null;
  to: Period | null;
  tenantId: string | null;
  offset: number;
  limit: number;
}

export interface ListingSlice {
  total: number;
  /** True if the slice stays the same until the workspace's stamp changes. */
  isFinal: boolean;
}

export type RowVisitor = (tenant: StoredTenant, period: Period, usage: Usage) => void;

export interface WorkspaceStoreOptions {
  id: string;
  /** The clock that decides which month is open and how much of it has passed. */
  clock: WallClock;
  generator: UsageGenerator | null;
  order: ListingOrder;
}

/** The order of a listing: by period and tenant, shuffled by a seed, or by credits from highest to lowest. */
export type ListingOrder = { by: 'period' } | { by: 'hash'; seed: number } | { by: 'credits' };

type UsageReader = (tenant: StoredTenant, period: Period) => Usage;

/** How one period differs from its generated records. `ordered` caches the tenants with a record, sorted by id. */
interface PeriodSheet {
  explicit: Map<StoredTenant, Usage>;
  removed: Set<StoredTenant>;
  ordered: { generated: boolean; tenants: readonly StoredTenant[] } | null;
}

const CACHED_SHUFFLES = 8;

/**
 * The usage of one workspace in the simulated service. Generated records are computed on demand; explicit records
 * replace them. Tests change the usage with `set`, `remove` and `clear`; the next request sees the change.
 */
export class SandboxWorkspace {
  readonly id: string;
  readonly dashboards = new Map<string, SandboxDashboard>();
  readonly #clock: WallClock;
  readonly #order: ListingOrder;
  readonly #tenants = new Map<string, StoredTenant>();
  readonly #sheets = new Map<Period, PeriodSheet>();
  readonly #shuffles = new Map<string, Uint32Array>();
  #version = 0;
  #latestMs = Number.NEGATIVE_INFINITY;
  #generator: UsageGenerator | null;
  #generated: readonly StoredTenant[];

  constructor(options: WorkspaceStoreOptions) {
    this.id = options.id;
    this.#clock = options.clock;
    this.#order = options.order;
    this.#generator = options.generator;
    const names = Array.from({ length: options.generator?.tenants ?? 0 }, (_, index) => ({
      id: generatedTenantId(index),
      index,
    }));
    // Created in listing order, so that neighbours on a page are neighbours in memory.
    this.#generated = names.sort(compareIds).map(({ id, index }) => this.#intern(id, index));
  }

  set(row: SandboxRecord): void {
    const usage = {
      credits: toExactInteger('credits', row.credits),
      requests: toExactInteger('requests', row.requests),
    };
    const tenant = this.#intern(row.tenantId, -1);
    const sheet = this.#sheet(parsePeriod(row.period));
    this.#version += 1;
    if (!sheet.explicit.has(tenant)) this.#membershipChanged(sheet);
    sheet.explicit.set(tenant, usage);
  }

  remove(tenantId: string, period: Period): boolean {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined || !this.#has(tenant, period, periodAt(this.#clock.now()))) return false;
    const sheet = this.#sheet(period);
    this.#version += 1;
    sheet.explicit.delete(tenant);
    if (tenant.index >= 0) sheet.removed.add(tenant);
    this.#membershipChanged(sheet);
    return true;
  }

  /** Removes all records, including generated ones and those of future months. */
  clear(): void {
    this.#version += 1;
    this.#generator = null;
    this.#generated = [];
    this.#tenants.clear();
    this.#sheets.clear();
    this.#shuffles.clear();
  }

  rows(): SandboxRecord[] {
    const rows: SandboxRecord[] = [];
    this.read(
      { from: null, to: null, tenantId: null, offset: 0, limit: Number.POSITIVE_INFINITY },
      (tenant, period, usage) =>
        rows.push({ tenantId: tenant.id, period, credits: usage.credits, requests: usage.requests }),
    );
    return rows;
  }

  /**
   * Returns a version text for cached responses. It changes when data changes, when a month begins, and when the clock
   * goes back.
   */
  stamp(): string {
    const nowMs = this.#clock.now();
    if (nowMs < this.#latestMs) this.#version += 1;
    this.#latestMs = nowMs;
    return `${this.#version} ${periodAt(nowMs)}`;
  }

  read(query: ListingQuery, visit: RowVisitor): ListingSlice {
    const nowMs = this.#clock.now();
    const segments = this.#segments(query, periodAt(nowMs));
    const total = segments.reduce((sum, segment) => sum + segment.tenants.length, 0);
    const end = Math.min(total, query.offset + query.limit);
    const usageOf = this.#usageReader(nowMs);
    const order = this.#positions(query, segments, total, usageOf);
    const cursor = createCursor(segments);
    // In the order of credits, the position of a record depends on all other records, so all periods count as visited.
    const visited = new Set<Period>(this.#order.by === 'credits' ? segments.map((segment) => segment.period) : []);
    let lastPeriod: Period | null = null;
    for (let position = query.offset; position < end; position += 1) {
      const place = cursor(order === null ? position : (order[position] ?? 0));
      if (place === null) continue;
      visit(place.tenant, place.period, usageOf(place.tenant, place.period));
      if (place.period !== lastPeriod) visited.add(place.period);
      lastPeriod = place.period;
    }
    const generator = this.#generator;
    return { total, isFinal: generator === null || [...visited].every((period) => generator.isFinal(period, nowMs)) };
  }

  /**
   * Creates a function that returns the usage of a tenant and period as it is at `nowMs`. Each period is prepared once.
   */
  #usageReader(nowMs: number): UsageReader {
    const readers = new Map<Period, PeriodReader>();
    let lastPeriod: Period | null = null;
    let explicit: Map<StoredTenant, Usage> | undefined;
    let generated: PeriodReader = noUsage;
    return (tenant, period) => {
      if (period !== lastPeriod) {
        explicit = this.#sheets.get(period)?.explicit;
        generated = readers.get(period) ?? this.#generator?.read(period, nowMs) ?? noUsage;
        readers.set(period, generated);
        lastPeriod = period;
      }
      return explicit?.get(tenant) ?? generated(tenant.index);
    };
  }

  #intern(id: string, index: number): StoredTenant {
    const known = this.#tenants.get(id);
    if (known !== undefined) return known;
    const tenant: StoredTenant = { id, json: JSON.stringify(id), index };
    this.#tenants.set(id, tenant);
    return tenant;
  }

  #sheet(period: Period): PeriodSheet {
    let sheet = this.#sheets.get(period);
    if (sheet === undefined) {
      sheet = { explicit: new Map(), removed: new Set(), ordered: null };
      this.#sheets.set(period, sheet);
    }
    return sheet;
  }

  #membershipChanged(sheet: PeriodSheet): void {
    sheet.ordered = null;
    this.#shuffles.clear();
  }

  #isGenerated(period: Period, open: Period): boolean {
    return this.#generator !== null && period >= this.#generator.firstPeriod && period <= open;
  }

  #has(tenant: StoredTenant, period: Period, open: Period): boolean {
    const sheet = this.#sheets.get(period);
    if (sheet?.explicit.has(tenant) === true) return true;
    return tenant.index >= 0 && this.#isGenerated(period, open) && sheet?.removed.has(tenant) !== true;
  }

  #segments(query: ListingQuery, open: Period): Segment[] {
    const periods = new Set(this.#generator === null ? [] : periodRange(this.#generator.firstPeriod, open));
    for (const period of this.#sheets.keys()) periods.add(period);
    const selected = [...periods].filter(
      (period) => (query.from === null || period >= query.from) && (query.to === null || period <= query.to),
    );
    selected.sort();
    if (query.tenantId === null) return selected.map((period) => ({ period, tenants: this.#present(period, open) }));
    const tenant = this.#tenants.get(query.tenantId);
    if (tenant === undefined) return [];
    return selected
      .filter((period) => this.#has(tenant, period, open))
      .map((period) => ({ period, tenants: [tenant] }));
  }

  #present(period: Period, open: Period): readonly StoredTenant[] {
    const generated = this.#isGenerated(period, open);
    const sheet = this.#sheets.get(period);
    if (sheet === undefined) return generated ? this.#generated : [];
    if (sheet.ordered?.generated !== generated) {
      const base = generated
        ? this.#generated.filter((tenant) => !sheet.explicit.has(tenant) && !sheet.removed.has(tenant))
        : [];
      sheet.ordered = { generated, tenants: [...base, ...sheet.explicit.keys()].sort(compareIds) };
    }
    return sheet.ordered.tenants;
  }

  /**
   * Returns the positions in the listing sorted by period and tenant, in the order to show; null if that order is the
   * same.
   */
  #positions(
    query: ListingQuery,
    segments: readonly Segment[],
    total: number,
    usageOf: UsageReader,
  ): Uint32Array | null {
    if (this.#order.by === 'period') return null;
    if (this.#order.by === 'hash') return this.#shuffle(query, segments, total, this.#order.seed);
    return positionsByCredits(segments, total, (tenant, period) => usageOf(tenant, period).credits);
  }

  #shuffle(query: ListingQuery, segments: readonly Segment[], total: number, seed: number): Uint32Array {
    const key = JSON.stringify([query.from, query.to, query.tenantId, total]);
    const known = this.#shuffles.get(key);
    if (known !== undefined) return known;
    const order = shuffledPositions(segments, total, seed);
    if (this.#shuffles.size >= CACHED_SHUFFLES) this.#shuffles.clear();
    this.#shuffles.set(key, order);
    return order;
  }
}

function noUsage(): { credits: number; requests: number } {
  return { credits: 0, requests: 0 };
}

function toExactInteger(name: string, value: number | bigint): number | bigint {
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return value;
  throw new AppError('sandbox_inexact', `${name} ${value} is not an exact integer`, {
    hint: 'use a bigint for integers beyond 2^53',
  });
}

/** Compares ids by UTF-16 code units, so that the order is the same on every machine. */
function compareIds(left: { id: string }, right: { id: string }): number {
  return left.id < right.id ? -1 : 1;
}

export interface SandboxDashboard {
  dashboard_id: string;
  title: string;
  description: string;
  workspace_id: string;
  dashboard_status: string;
  meta: Record<string, unknown>;
  configuration: Record<string, unknown>;
  is_public: boolean;
  created_by: string;
  modified_by: string;
  deleted_by: string;
  created_at: string;
  modified_at: string;
}

/** A tenant, shared by all its records. `json` is its id as a JSON string. */
interface StoredTenant {
  readonly id: string;
  readonly json: string;
  /** The tenant's index in the generator, or -1 for a tenant that is not generated. */
  readonly index: number;
}

/** The tenants of one period, sorted by id. A listing is a sequence of segments. */
interface Segment {
  period: Period;
  tenants: readonly StoredTenant[];
}

/**
 * Positions in a listing are below this limit. The sort key hash * 2^25 + position combines a hash of 28 bits and a
 * position; a double represents it exactly.
 */
const POSITIONS = 2 ** 25;

/**
 * Creates a function that returns the record at a position of the sorted listing. Positions may be passed in any order;
 * it is fast if they ascend.
 */
function createCursor(
  segments: readonly Segment[],
): (position: number) => { tenant: StoredTenant; period: Period } | null {
  let at = 0;
  let start = 0;
  return (position) => {
    if (position < start) {
      at = 0;
      start = 0;
    }
    let segment = segments[at];
    while (segment !== undefined && position >= start + segment.tenants.length) {
      start += segment.tenants.length;
      at += 1;
      segment = segments[at];
    }
    const tenant = segment?.tenants[position - start];
    return segment === undefined || tenant === undefined ? null : { tenant, period: segment.period };
  };
}

/**
 * Returns the positions of a listing's records, sorted by a hash of period and tenant. When a record is added or
 * removed, the others keep their order.
 */
function shuffledPositions(segments: readonly Segment[], total: number, seed: number): Uint32Array {
  const keyed = new Float64Array(total);
  let position = 0;
  for (const { period, tenants } of segments) {
    const salt = textHash(period, seed);
    for (const tenant of tenants) {
      keyed[position] = (textHash(tenant.id, salt) >>> 4) * POSITIONS + position;
      position += 1;
    }
  }
  return Uint32Array.from(keyed.sort(), (key) => key % POSITIONS);
}

/**
 * Returns the positions of a listing's records from the highest credits to the lowest; records with equal credits keep
 * their order. Every page sorts again, so a record whose credits change moves at once.
 */
function positionsByCredits(
  segments: readonly Segment[],
  total: number,
  creditsOf: (tenant: StoredTenant, period: Period) => number | bigint,
): Uint32Array {
  const credits = segments.flatMap(({ period, tenants }) => tenants.map((tenant) => creditsOf(tenant, period)));
  return Uint32Array.from({ length: total }, (_, position) => position).sort((left, right) => {
    const leftCredits = credits[left] ?? 0;
    const rightCredits = credits[right] ?? 0;
    return leftCredits === rightCredits ? left - right : leftCredits > rightCredits ? -1 : 1;
  });
}

function textHash(text: string, seed: number): number {
  let hash = hash32(seed);
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash32(hash);
}
