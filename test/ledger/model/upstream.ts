import { iso, monthSpan } from './calendar.ts';
import { type Dates, type Listing, periodOf, type Range, type Usage, within } from './model-parts.ts';

export const PERIODS = ['2025-11', '2025-12', '2026-01', '2026-02'] as const;
export const TENANTS = ['acme', 'globex', 'initech', 'umbrella', 'tyrell', 'hooli'] as const;
const RECORDS_A_PAGE = 5;

/** One thing that happens to a record upstream. `hide` keeps it in the tenant's history and drops it from the listing. */
export interface UpstreamChange {
  what: 'set' | 'grow' | 'shrink' | 'remove' | 'return' | 'hide' | 'show';
  tenant: number;
  period: number;
  credits: bigint;
  requests: bigint;
}

/** The service's own state of one workspace. */
export class Upstream {
  readonly workspaceId: string;
  readonly #records = new Map<string, Usage>();
  readonly #removed = new Map<string, Usage>();
  readonly #hidden = new Set<string>();

  constructor(workspaceId: string) {
    this.workspaceId = workspaceId;
  }

  apply({ what, tenant, period, credits, requests }: UpstreamChange): void {
    const key = `${PERIODS[period]} ${TENANTS[tenant]}`;
    const record = this.#records.get(key);
    if (what === 'set') this.#put(key, { credits, requests });
    else if (what === 'hide') this.#hidden.add(key);
    else if (what === 'show') this.#hidden.delete(key);
    else if (what === 'return') {
      const removed = this.#removed.get(key);
      if (removed !== undefined) this.#put(key, removed);
    } else if (record === undefined) return;
    else if (what === 'grow')
      this.#put(key, { credits: record.credits + credits, requests: record.requests + requests });
    else if (what === 'shrink') this.#put(key, { credits: record.credits / 2n, requests: record.requests });
    else {
      this.#removed.set(key, record);
      this.#records.delete(key);
    }
  }

  /** The months that each tenant's own history has, hidden ones too. */
  histories(): Map<string, string[]> {
    const keys = [...this.#records.keys()];
    const byTenant = Map.groupBy(keys, (key) => key.slice(periodOf(key).length + 1));
    return new Map([...byTenant].map(([tenant, own]) => [tenant, own.map(periodOf)]));
  }

  listing({ from, to }: Range): Listing {
    const shown = [...this.#records].filter(([key]) => within(periodOf(key), from, to) && !this.#hidden.has(key));
    shown.sort(([a], [b]) => (a < b ? -1 : 1));
    return { usage: new Map(shown), pages: Math.max(1, Math.ceil(shown.length / RECORDS_A_PAGE)) };
  }

  #put(key: string, usage: Usage): void {
    this.#removed.delete(key);
    this.#records.set(key, usage);
  }
}

/** The bounds of a period as finance sees them: the calendar month, whatever the service writes. */
export function datesOf(period: string): Dates {
  const { startMs, endMs } = monthSpan(period);
  return { start: iso(startMs), end: iso(endMs - 1_000) };
}

/** The bodies of all pages of a listing, as the service writes them; where it has moved, something is shown twice. */
export function pageBodies(workspaceId: string, { usage, pages }: Listing, moved = false): ArrayBuffer[] {
  const records = [...usage].map(recordText);
  const shown = moved
    ? [...records, records[0] ?? recordText(['2025-11 ghost', { credits: 1n, requests: 1n }])]
    : records;
  const totals = `"total_records":${records.length},"total_pages":${records.length === 0 ? 0 : pages}`;
  return Array.from({ length: pages }, (_, page) => {
    const end = page === pages - 1 ? shown.length : (page + 1) * RECORDS_A_PAGE;
    const slice = shown.slice(page * RECORDS_A_PAGE, end);
    const data = `{"workspace_id":"${workspaceId}","usage":[${slice.join(',')}],${totals}}`;
    return Uint8Array.from(Buffer.from(`{"message":"Tenant usage","success":true,"data":${data}}`)).buffer;
  });
}

function recordText([key, { credits, requests }]: [string, Usage]): string {
  const period = periodOf(key);
  const { start, end } = datesOf(period);
  // January is written with a zone and ends a day early.
  const [periodStart, periodEnd] =
    period === '2026-01'
      ? [start.replace('.000Z', '+00:00'), end.replace('-31T', '-30T')]
      : [start.slice(0, 19), end.slice(0, 19)];
  return (
    `{"tenant_id":${JSON.stringify(key.slice(period.length + 1))},"period":"${period}",` +
    `"period_start":"${periodStart}","period_end":"${periodEnd}",` +
    `"credits_used":${credits},"request_count":${requests}}`
  );
}
