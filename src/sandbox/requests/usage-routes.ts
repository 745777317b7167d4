import { isoTime } from '../../core/clock.ts';
import { oncePerKey } from '../../core/one-at-a-time.ts';
import { isPeriod, type Period, periodEndMs } from '../../core/period.ts';
import type { SandboxWorkspace } from '../world/store.ts';
import { failureReply, type Reply, type SandboxRequest, successReply } from './call.ts';

/**
 * A cache of responses for load tests, so that they do not measure the sandbox. A full cache accepts no new pages:
 * clients read all pages in sequence and begin again, so removing the oldest page would remove the one that is needed
 * next.
 */
interface PageCache {
  /** Returns the cached answer, or null if there is none or its stamp is outdated. */
  get(key: string, stamp: string): Buffer | null;
  store(key: string, stamp: string, body: Buffer): void;
}

const DEFAULT_PER_PAGE = 50;
const MAXIMUM_PER_PAGE = 100;

/**
 * A function that answers the two endpoints of usage: of all tenants, and of one tenant. Where the specification says
 * nothing, the sandbox chooses: without records there are 0 pages; a page after the last one, and an unknown tenant, get
 * an empty list with status 200.
 */
export type UsageRoute = (call: SandboxRequest, workspace: SandboxWorkspace) => Reply;

/**
 * Creates the usage route with a cache of up to `cacheBytes` for responses that cannot change. With 0, every response
 * is computed again.
 */
export function createUsageRoute(cacheBytes: number): UsageRoute {
  const cache = createPageCache(cacheBytes);
  /**
   * Returns the JSON of a record between its tenant id and its credits. Converting it to a single flat string makes it
   * faster to append, which every page does a hundred times.
   */
  const periodFields = oncePerKey((period: Period): string => {
    const lastSecond = isoTime(periodEndMs(period) - 1_000).slice(0, 19);
    const fields = `"period":"${period}","period_start":"${period}-01T00:00:00","period_end":"${lastSecond}"`;
    return Buffer.from(`,${fields},"credits_used":`).toString('latin1');
  });

  return (call, workspace) => {
    const from = call.query.get('from_period');
    const to = call.query.get('to_period');
    if (from !== null && !isPeriod(from)) return failureReply(400, 'from_period must be a month in the form YYYY-MM');
    if (to !== null && !isPeriod(to)) return failureReply(400, 'to_period must be a month in the form YYYY-MM');
    const page = integerParameter(call.query.get('page'), 1);
    if (!(page >= 1)) return failureReply(400, 'page must be an integer of at least 1');
    const perPage = integerParameter(call.query.get('per_page'), DEFAULT_PER_PAGE);
    if (!(perPage >= 1 && perPage <= MAXIMUM_PER_PAGE))
      return failureReply(400, 'per_page must be an integer from 1 to 100');

    const { tenantId } = call;
    const key = `${call.path}?${call.rawQuery}`;
    const stamp = workspace.stamp();
    const kept = cache.get(key, stamp);
    if (kept !== null) return { status: 200, body: kept };

    let usage = '';
    let lastPeriod: Period | null = null;
    let fields = '';
    const query = { from, to, tenantId, offset: (page - 1) * perPage, limit: perPage };
    // Appending to one string is a fifth faster than joining one string per record.
    const { total, isFinal } = workspace.read(query, (tenant, period, { credits, requests }) => {
      if (period !== lastPeriod) fields = periodFields(period);
      lastPeriod = period;
      usage += usage === '' ? '{"tenant_id":' : ',{"tenant_id":';
      usage += tenant.json;
      usage += fields;
      usage += credits;
      usage += ',"request_count":';
      usage += requests;
      usage += '}';
    });
    const owner = tenantId === null ? '' : `"tenant_id":${JSON.stringify(tenantId)},`;
    const totals = `"total_records":${total},"total_pages":${Math.ceil(total / perPage)}`;
    const data = `{"workspace_id":${JSON.stringify(workspace.id)},${owner}"usage":[${usage}],${totals}}`;
    const reply = successReply('Tenant usage', data);
    if (!isFinal || cacheBytes === 0) return reply;
    const body = Buffer.from(reply.body);
    cache.store(key, stamp, body);
    return { status: 200, body };
  };
}

function integerParameter(text: string | null, fallback: number): number {
  if (text === null) return fallback;
  return /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
}

/** Creates a cache of up to `limitBytes` of bodies. With 0 it stores nothing. */
function createPageCache(limitBytes: number): PageCache {
  const pages = new Map<string, { stamp: string; body: Buffer }>();
  let bytes = 0;
  return {
    get(key, stamp) {
      const page = pages.get(key);
      return page?.stamp === stamp ? page.body : null;
    },
    store(key, stamp, body) {
      const size = bytes - (pages.get(key)?.body.length ?? 0) + body.length;
      if (size > limitBytes) return;
      pages.set(key, { stamp, body });
      bytes = size;
    },
  };
}
