import { z } from 'zod';
import { findSilences, type SilenceRow } from '../../alerts/queries/silences.ts';
import { isoTime } from '../../core/clock.ts';
import { WORKSPACE_FILTER } from '../filters.ts';
import { listOperation, type RowKey, rowsAfter } from '../operation.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';

const text = z.string().nullable();

const row = z.strictObject({
  silence_id: z.string(),
  kind: z.enum(['silence', 'plan']),
  workspace_id: text.describe('null: every workspace'),
  rule: z.string(),
  tenant: z.string(),
  period: z.string(),
  up_to_credits: z.bigint().nullable().describe('a plan mutes up to these credits'),
  begins_at: text,
  until: z.string(),
  weekdays: text,
  hours: text,
  days_of_month: text,
  time_zone: text.describe('null: UTC'),
  reason: z.string(),
  created_by: z.string(),
  created_at: z.string(),
  ended_at: text,
  ended_by: text,
  muted: z.union([z.bigint(), z.int()]).describe('the number of changes of alerts that it muted'),
});

export const listSilences = listOperation({
  name: 'silences.list',
  summary: 'List active silences and plans, and how many changes of alerts they muted',
  details: 'Shows why an alert notified nobody. `muted` counts the changes of alerts that each one kept back.',
  role: 'read',
  input: z.strictObject({
    ...WORKSPACE_FILTER,
    all: z.boolean().optional().describe('include ended ones'),
  }),
  http: { method: 'GET', path: '/silences' },
  command: 'alerts silences',
  title: 'silences',
  member: 'rows',
  head: z.strictObject({}),
  row: row as unknown as z.ZodType<SilenceRow>,
  columns: null,
  keyOf,
  run(scope, { workspace, all = false }, page) {
    requireKnownWorkspace(scope, workspace);
    const now = isoTime(scope.context.clock.now());
    return {
      head: {},
      rows: rowsAfter(findSilences(scope.connection, { now, all, workspaceId: workspace }), keyOf, page),
    };
  },
});

function keyOf({ silence_id }: SilenceRow): RowKey {
  return [silence_id];
}
