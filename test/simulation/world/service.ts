import { createHmac } from 'node:crypto';

const HOUR_MS = 3_600_000;
/** Figures grow in steps of this, so that the oracle can go through all that there were. */
export const STEP_MS = 10 * 60_000;

export interface Figure {
  credits: bigint;
  requests: bigint;
}

export interface ServiceRow extends Figure {
  tenantId: string;
  period: string;
}

/** One tenant: from `sinceMs` on it uses `creditsPerDay`, more or less by hour and month. */
export interface Tenant {
  id: string;
  sinceMs: number;
  creditsPerDay: number;
  /** Multiplies what is used in one month. */
  bulges: Map<string, number>;
}

/** What the service says otherwise from `atMs` until `untilMs`: `null` forgets the record, a number is added to its credits. */
interface Amendment {
  atMs: number;
  /** Absent: for ever. */
  untilMs?: number;
  tenantId: string;
  period: string;
  credits: bigint | null;
}

/**
 * What a service has to say of one workspace, at every moment of the world. It shares nothing with the program: it is the
 * truth that the oracles hold the ledger against.
 */
export class SimulatedService {
  readonly workspaceId: string;
  readonly secretKey: string;
  readonly tenants: Tenant[];
  readonly #amendments: Amendment[] = [];
  /** Tenants that the listing leaves out. */
  readonly unlisted = new Set<string>();
  /** Added to the world's time in the Date header and where signatures are judged. */
  clockSkewMs = 0;

  constructor(workspaceId: string, secretKey: string, tenants: Tenant[]) {
    this.workspaceId = workspaceId;
    this.secretKey = secretKey;
    this.tenants = tenants;
  }

  amend(amendment: Amendment): void {
    this.#amendments.push(amendment);
  }

  /** Whether it has forgotten all of some period: that is not believed, so nothing of it is read any more. */
  hasForgottenAll(atMs: number): boolean {
    const forgotten = this.#amendments.filter((amendment) => amendment.credits === null && isAt(amendment, atMs));
    return forgotten.some(({ period }) => this.tenants.every((tenant) => this.rowAt(atMs, tenant, period) === null));
  }

  /** The moments in a span at which anything it says may change, its beginning included. */
  momentsBetween(fromMs: number, toMs: number): number[] {
    const moments = [fromMs];
    for (let step = Math.ceil(fromMs / STEP_MS) * STEP_MS; step <= toMs; step += STEP_MS) moments.push(step);
    const edges = this.#amendments.flatMap(({ atMs, untilMs }) => [atMs, untilMs ?? atMs]);
    return [...moments, ...edges.filter((edgeMs) => edgeMs >= fromMs && edgeMs <= toMs)];
  }

  /** All records of the periods from `from` to `to` (inclusive, `YYYY-MM`; null: no bound), in order of period and tenant. */
  rowsAt(atMs: number, from: string | null, to: string | null): ServiceRow[] {
    const rows: ServiceRow[] = [];
    for (const tenant of this.tenants) {
      for (let month = monthOf(tenant.sinceMs); month <= monthOf(atMs); month = nextMonth(month)) {
        if ((from !== null && month < from) || (to !== null && month > to)) continue;
        const row = this.rowAt(atMs, tenant, month);
        if (row !== null) rows.push(row);
      }
    }
    return rows.sort((a, b) => compare(a.period, b.period) || compare(a.tenantId, b.tenantId));
  }

  rowAt(atMs: number, tenant: Tenant, period: string): ServiceRow | null {
    const beginMs = Math.max(tenant.sinceMs, Date.parse(`${period}-01T00:00:00Z`));
    const endMs = Date.parse(`${nextMonth(period)}-01T00:00:00Z`);
    const untilMs = Math.min(Math.floor(atMs / STEP_MS) * STEP_MS, endMs);
    if (untilMs < beginMs) return null;
    const hours = (untilMs - beginMs) / HOUR_MS;
    const used = Math.floor((hours / 24) * tenant.creditsPerDay * (tenant.bulges.get(period) ?? 1));
    let credits = BigInt(used);
    for (const amendment of this.#amendments) {
      if (!isAt(amendment, atMs) || amendment.tenantId !== tenant.id || amendment.period !== period) continue;
      if (amendment.credits === null) return null;
      credits += amendment.credits;
    }
    return { tenantId: tenant.id, period, credits, requests: BigInt(Math.floor(used / 7) + 1) };
  }

  /** Whether a request is signed as the documentation says, for a service whose clock shows `nowMs`. */
  accepts(headers: Record<string, string>, nowMs: number): boolean {
    const validUntil = headers['x-valid-until'] ?? '';
    const expected = createHmac('sha256', this.secretKey)
      .update(this.workspaceId + validUntil)
      .digest('hex');
    const untilMs = Number(validUntil) * 1000;
    return headers['x-signature'] === expected && untilMs >= nowMs && untilMs <= nowMs + 24 * HOUR_MS;
  }
}

export function monthOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}

export function nextMonth(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return monthOf(Date.UTC(year, number, 1));
}

export function monthBefore(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return monthOf(Date.UTC(year, number - 2, 1));
}

function isAt({ atMs: fromMs, untilMs = Number.POSITIVE_INFINITY }: Amendment, atMs: number): boolean {
  return fromMs <= atMs && atMs < untilMs;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
