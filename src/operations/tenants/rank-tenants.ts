import { z } from 'zod';
import { periodAt } from '../../core/period.ts';
import { rankTenants as readRanking, TENANT_SORTS } from '../../reports/queries/tenant-ranking.ts';
import { WORKSPACE_FILTER } from '../filters.ts';
import { documentOperation } from '../operation.ts';
import { decimalText, periodText } from '../schemas.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';

const DEFAULT_TENANTS = 50;
const MAX_TENANTS = 200;
const MAX_OFFSET = 1_000_000;

const ranked = z.strictObject({
  workspace_id: z.string(),
  tenant_id: z.string(),
  display_name: z.string().nullable(),
  external_ref: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  credits_used: z.bigint().nullable().describe('null without a record in the month'),
  previous_credits: z.bigint().nullable(),
  amount: decimalText.nullable().describe('the charge; null without a price'),
  currency: z.string().nullable(),
});

export const rankTenants = documentOperation({
  name: 'tenants.rank',
  summary: 'Rank the tenants of a month by usage, change or charge, or find tenants by part of a name',
  details:
    'Use it for the largest tenants, the largest changes, or a tenant of which only a part of the name is known. tenants_show has the history of one.',
  role: 'read',
  input: z.strictObject({
    ...WORKSPACE_FILTER,
    period: periodText.optional().describe('the month; the current one unless given'),
    search: z.string().min(1).max(200).optional().describe('part of an id, name, reference or label'),
    sort: z.enum(TENANT_SORTS).optional().describe('the order; by credits unless given'),
    limit: z
      .int()
      .min(1)
      .max(MAX_TENANTS)
      .optional()
      .describe(`the number of tenants, ${DEFAULT_TENANTS} unless given`),
    offset: z.int().min(0).max(MAX_OFFSET).optional().describe('the number of tenants to leave out first'),
  }),
  output: z.strictObject({ period: z.string(), tenants: z.array(ranked), more: z.boolean() }),
  http: { method: 'GET', path: '/tenants/ranking' },
  command: null,
  run(scope, { workspace, period, search, sort = 'credits', limit = DEFAULT_TENANTS, offset = 0 }) {
    requireKnownWorkspace(scope, workspace);
    const month = period ?? periodAt(scope.context.clock.now());
    const request = { period: month, workspaceId: workspace, search, sort, offset, limit: limit + 1 };
    const found = readRanking(scope.connection, request);
    return { period: month, tenants: found.slice(0, limit), more: found.length > limit };
  },
});
