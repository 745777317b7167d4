import { z } from 'zod';
import { WORKSPACE_FILTER } from '../filters.ts';
import { documentOperation } from '../operation.ts';
import { statusDocument } from './status-document.ts';
import { readStatusReport } from './status-report.ts';

const count = z.int().min(0);
const time = z.string().nullable();

const lastRun = z.strictObject({
  run_id: z.string(),
  kind: z.string(),
  status: z.string(),
  from_period: z.string().nullable(),
  to_period: z.string().nullable(),
  started_at: z.string(),
  finished_at: time,
  pages: count,
  records: count,
  entries: count,
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
});

const workspace = z.strictObject({
  workspace_id: z.string(),
  last_complete_run_at: time,
  last_attempt_at: time,
  last_status: z.string().nullable(),
  covers_from: z.string().nullable(),
  covers_to: z.string().nullable(),
  last_run: lastRun.nullable(),
  open_alerts: count,
  name: z.string(),
  configured: z.boolean(),
  state: z
    .enum(['stale', 'failed', 'never', 'fresh', 'ended', 'not_configured'])
    .describe('stale: no complete run for longer than its schedule allows; failed: the last run failed'),
  next_attempt_at: time.describe('null if none is planned'),
});

const queue = z.union([
  z.strictObject({ status: z.literal('not_running') }),
  z.strictObject({ status: z.literal('unavailable'), redis: z.string(), reason: z.string() }),
  z.strictObject({
    status: z.literal('running'),
    redis: z.string(),
    sync: z.strictObject({ waiting: count, active: count, delayed: count, completed: count, failed: count }),
  }),
]);

const configuration = z.strictObject({
  read_at: z.string(),
  refused: z
    .strictObject({
      at: z.string(),
      faults: z.array(z.strictObject({ path: z.string(), message: z.string(), hint: z.string() })).readonly(),
    })
    .nullable()
    .describe('why the latest configuration was rejected'),
  needs_restart: z.array(z.string()).readonly().describe('changed settings that need a restart'),
});

const output = z.strictObject({
  ledger: z.strictObject({
    path: z.string(),
    ledger_id: z.string(),
    locked_by: z.string().nullable().describe('the process that holds the write lock'),
  }),
  configuration: configuration.nullable().describe('what the running daemon uses; null when none runs'),
  workspaces: z.array(workspace),
  open_alerts: count,
  outbox: z.strictObject({ pending: count, held: count, dead: count }).describe('notifications'),
  disabled_channels: z.array(z.strictObject({ name: z.string(), disabled_at: z.string(), reason: z.string() })),
  failing_channels: z.array(z.strictObject({ name: z.string(), reason: z.string(), next_attempt_at: time })),
  queue,
  times_ahead: z.strictObject({ count, latest_at: z.string() }).nullable(),
  not_closed: z
    .array(z.strictObject({ workspace_id: z.string(), period: z.string() }))
    .describe('months that are not closed although a later one is'),
  no_jumps_before: z.array(z.strictObject({ workspace_id: z.string(), period: z.string() })),
  exports: z.array(
    z.strictObject({
      name: z.string(),
      last_file_at: time,
      failing: z.strictObject({ since: time, reason: z.string() }).nullable(),
    }),
  ),
  outlets: z.array(
    z.strictObject({
      name: z.string(),
      state: z.enum(['sending', 'paused', 'not_started', 'differs']),
      waiting: count,
      held: count,
      late: count,
      refused: count,
      trouble: z.string().nullable(),
    }),
  ),
  publish: z
    .strictObject({
      position: count.nullable(),
      lag_links: count,
      lag_seconds: count,
      fault: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
    })
    .nullable()
    .describe('the copy in Postgres; null when none is configured'),
});

export const readStatus = documentOperation({
  name: 'status.read',
  summary: 'Show the freshness and last run of each workspace, open alerts, waiting notifications and the queue',
  details:
    'Shows whether the program works and how old the figures are. For the freshness alone use workspaces_list; for each run use runs_list.',
  role: 'read',
  input: z.strictObject(WORKSPACE_FILTER),
  output,
  http: { method: 'GET', path: '/status' },
  command: 'status',
  run: async (scope, input) => statusDocument(await readStatusReport(scope, input.workspace)),
});
