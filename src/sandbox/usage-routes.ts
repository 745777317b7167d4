import { isoTime } from '../core/clock.ts';
import { isPeriod, type Period, periodEndMs } from '../core/period.ts';
import type { SandboxCall } from './call.ts';
import { failure, type Reply, success } from './reply.ts';
import type { SandboxWorkspace } from './store.ts';

const DEFAULT_PER_PAGE = 50;
const MAXIMUM_PER_PAGE = 100;

/**
 * Answers endpoints 4.3 and 4.4. Not shown by the interface and chosen here: no records make 0 pages, a page beyond the
 * last and a tenant nobody knows give an empty list with 200.
 */
export type UsageRoute = (call: SandboxCall, workspace: SandboxWorkspace) => Reply;

export function createUsageRoute(): UsageRoute {
  const periodJson = new Map<Period, string>();
  function periodFields(period: Period): string {
    let json = periodJson.get(period);
    if (json === undefined) {
      const lastSecond = isoTime(periodEndMs(period) - 1_000).slice(0, 19);
      json = `"period":"${period}","period_start":"${period}-01T00:00:00","period_end":"${lastSecond}"`;
      periodJson.set(period, json);
    }
    return json;
  }

  return (call, workspace) => {
    const from = call.query.get('from_period');
    const to = call.query.get('to_period');
    if (from !== null && !isPeriod(from)) return failure(400, 'from_period is not a month in the form YYYY-MM');
    if (to !== null && !isPeriod(to)) return failure(400, 'to_period is not a month in the form YYYY-MM');
    const page = integerParameter(call.query.get('page'), 1);
    if (!(page >= 1)) return failure(400, 'page is not an integer from 1');
    const perPage = integerParameter(call.query.get('per_page'), DEFAULT_PER_PAGE);
    if (!(perPage >= 1 && perPage <= MAXIMUM_PER_PAGE)) return failure(400, 'per_page is not an integer from 1 to 100');

    const { tenantId } = call;
    let usage = '';
    const query = { from, to, tenantId, offset: (page - 1) * perPage, limit: perPage };
    const total = workspace.read(query, (tenant, period, { credits, requests }) => {
      if (usage !== '') usage += ',';
      usage += `{"tenant_id":${tenant.json},${periodFields(period)},"credits_used":${credits},"request_count":${requests}}`;
    });
    const owner = tenantId === null ? '' : `"tenant_id":${JSON.stringify(tenantId)},`;
    const totals = `"total_records":${total},"total_pages":${Math.ceil(total / perPage)}`;
    return success(
      'Tenant usage',
      `{"workspace_id":${JSON.stringify(workspace.id)},${owner}"usage":[${usage}],${totals}}`,
    );
  };
}

/** NaN unless the text is a plain integer. */
function integerParameter(text: string | null, fallback: number): number {
  if (text === null) return fallback;
  return /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
}
