import { z } from 'zod';
import { latestRuns as readLatestRuns } from '../../reports/queries/latest-runs.ts';
import { WORKSPACE_FILTER } from '../filters.ts';
import { documentOperation } from '../operation.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';

const DEFAULT_RUNS = 50;
const MAX_RUNS = 200;
const MAX_OFFSET = 1_000_000;

export const RUN_STATUSES = [
  'running',
  'applied',
  'failed',
  'unstable',
  'suspicious_empty',
  'suspicious_shrink',
  'superseded',
] as const;

const run = z.strictObject({
  run_id: z.string(),
  workspace_id: z.string(),
  kind: z.string(),
  status: z.string(),
  from_period: z.string().nullable(),
  to_period: z.string().nullable(),
  started_at: z.string(),
  finished_at: z.string().nullable(),
  pages: z.int(),
  records: z.int(),
  entries: z.int(),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
});

export const latestRuns = documentOperation({
  name: 'runs.latest',
  summary: 'Show runs, the latest first',
  details:
    'Shows when a workspace was read, and which runs failed. runs_show has the certificate of one run and its error with a remedy.',
  role: 'read',
  input: z.strictObject({
    ...WORKSPACE_FILTER,
    status: z.string().min(1).max(40).optional().describe('only runs with this status, such as failed'),
    limit: z.int().min(1).max(MAX_RUNS).optional().describe(`the number of runs, ${DEFAULT_RUNS} unless given`),
    offset: z.int().min(0).max(MAX_OFFSET).optional().describe('the number of runs to leave out first'),
  }),
  output: z.strictObject({ runs: z.array(run), more: z.boolean() }),
  http: { method: 'GET', path: '/runs/latest' },
  command: null,
  run(scope, { workspace, status, limit = DEFAULT_RUNS, offset = 0 }) {
    requireKnownWorkspace(scope, workspace);
    const found = readLatestRuns(scope.connection, { workspaceId: workspace, status, offset, limit: limit + 1 });
    return { runs: found.slice(0, limit), more: found.length > limit };
  },
});
