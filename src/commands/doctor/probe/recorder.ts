import { parseExact, stringifyExact } from '../../../core/text/exact-json.ts';
import type { Redactor } from '../../../core/text/redact.ts';
import type { RecordedAnswer, Recording } from '../../../sandbox/replay/recording.ts';
import type { UsagePageQuery } from '../../../usage-api/client.ts';
import { queryText } from '../../../usage-api/request-checks.ts';

/** Nobody is called so; a recording names it as it is. */
export const NO_SUCH_TENANT = 'usage-ledger-probe-no-such-tenant';

/** Months, moments and figures that were sent as text; whatever else is text may name somebody. */
const HARMLESS_TEXT = /^[\d.:TZ+-]{0,40}$/;

interface Outcome {
  status: number;
  /** Our clock minus the service's, which its header tells half a second too early on average. */
  skewMs: number | null;
  body: Uint8Array | null;
}

/**
 * Keeps what a service answers to a probe, without what nobody else must know: figures, months and totals stay, tenants and
 * workspaces are numbered, and of all else nothing is taken, neither texts nor fields that the interface does not know.
 */
export class Recorder {
  readonly #id: string;
  readonly #alias: string;
  readonly #redact: Redactor;
  readonly #tenants = new Map([[NO_SUCH_TENANT, NO_SUCH_TENANT]]);
  readonly #answers: RecordedAnswer[] = [];

  /** `number` stands for the workspace; `redact` takes out what a service has put where a figure belongs. */
  constructor(workspaceId: string, number: number, redact: Redactor) {
    this.#id = workspaceId;
    this.#redact = redact;
    this.#alias = `workspace-${number}`;
  }

  get recorded(): Recording['workspaces'][number] {
    return { id: this.#alias, answers: this.#answers };
  }

  add({ tenantId, ...query }: UsagePageQuery, { status, skewMs, body }: Outcome): void {
    this.#answers.push({
      tenant: tenantId === undefined ? null : this.#tenant(tenantId),
      query: queryText(query),
      status,
      clock_ahead_seconds: skewMs === null ? 0 : Math.round(-(skewMs + 500) / 1000),
      body: body === null ? null : this.#redacted(body),
    });
  }

  #redacted(body: Uint8Array): string | null {
    let answer: unknown;
    try {
      answer = parseExact(new TextDecoder('utf-8', { fatal: true }).decode(body));
    } catch {
      return null;
    }
    if (!isGroup(answer)) return null;
    const { data } = answer;
    const kept = {
      message: '',
      success: harmless(answer.success),
      data: isGroup(data) ? this.#data(data) : kindOf(data),
    };
    return this.#redact(stringifyExact(kept));
  }

  #data({ workspace_id: workspace, tenant_id: tenant, usage, total_records, total_pages }: Group): Group {
    return {
      workspace_id: workspace === this.#id ? this.#alias : kindOf(workspace),
      tenant_id: typeof tenant === 'string' ? this.#tenant(tenant) : kindOf(tenant),
      usage: Array.isArray(usage) ? usage.map((item) => this.#item(item)) : kindOf(usage),
      total_records: harmless(total_records),
      total_pages: harmless(total_pages),
    };
  }

  #item(item: unknown): unknown {
    if (!isGroup(item)) return kindOf(item);
    const { tenant_id: tenant } = item;
    return {
      tenant_id: typeof tenant === 'string' ? this.#tenant(tenant) : kindOf(tenant),
      period: harmless(item.period),
      period_start: harmless(item.period_start),
      period_end: harmless(item.period_end),
      credits_used: harmless(item.credits_used),
      request_count: harmless(item.request_count),
    };
  }

  #tenant(id: string): string {
    const alias = this.#tenants.get(id) ?? `tenant-${this.#tenants.size}`;
    this.#tenants.set(id, alias);
    return alias;
  }
}

type Group = Record<string, unknown>;

function isGroup(value: unknown): value is Group {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value itself where it can name nobody, else one of its kind. */
function harmless(value: unknown): unknown {
  const isFigure = typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';
  return isFigure || (typeof value === 'string' && HARMLESS_TEXT.test(value)) ? value : kindOf(value);
}

function kindOf(value: unknown): unknown {
  if (typeof value === 'string') return '(text)';
  if (typeof value === 'number' || typeof value === 'bigint') return 0;
  return typeof value === 'object' && value !== null ? {} : value;
}
