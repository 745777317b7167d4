import { z } from 'zod';
import type { Period } from '../../core/period.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { type Filters, whereClause } from '../../ledger/store/where.ts';
import type { Column } from '../../reports/formats/columns.ts';
import { TENANT_FILTER, WORKSPACE_FILTER } from '../filters.ts';
import { listOperation, type Page, type RowKey } from '../operation.ts';
import { periodText, rowSchema } from '../schemas.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';

export const LINE_COLUMNS: readonly Column<ManualLineRow>[] = [
  { name: 'line_id', kind: 'count', header: 'Line' },
  { name: 'workspace_id', kind: 'id', header: 'Workspace' },
  { name: 'period', kind: 'text', header: 'Month' },
  { name: 'tenant_id', kind: 'id', header: 'Tenant' },
  { name: 'amount', kind: 'amount', header: 'Amount' },
  { name: 'currency', kind: 'text', header: '' },
  { name: 'reason', kind: 'text', header: 'Reason' },
  { name: 'actor', kind: 'text', header: 'By' },
  { name: 'recorded_at', kind: 'date' },
  { name: 'revoked_at', kind: 'date', header: 'Revoked' },
  { name: 'revoked_by', kind: 'text' },
  { name: 'revoked_because', kind: 'text' },
];

export const listLines = listOperation({
  name: 'lines.list',
  summary: 'List manual lines, such as credit notes and fees, including revoked ones',
  details:
    'Amounts that a person added to a charge, with the reason and who added them. A negative amount is a credit note.',
  role: 'read',
  input: z.strictObject({
    ...WORKSPACE_FILTER,
    ...TENANT_FILTER,
    period: periodText.optional().describe('only this month'),
    latest_first: z.boolean().optional().describe('true lists the latest line first'),
  }),
  http: { method: 'GET', path: '/lines' },
  command: 'lines list',
  title: 'lines',
  member: 'rows',
  head: z.strictObject({}),
  row: rowSchema(LINE_COLUMNS, ['revoked_at', 'revoked_by', 'revoked_because']),
  columns: LINE_COLUMNS,
  keyOf,
  run(scope, { workspace, tenant, period, latest_first: latestFirst = false }, page) {
    requireKnownWorkspace(scope, workspace);
    const filters = { workspace_id: workspace, tenant_id: tenant, period };
    return { head: {}, rows: manualLines(scope.connection, filters, { ...page, latestFirst }) };
  },
});

function keyOf({ line_id }: ManualLineRow): RowKey {
  return [line_id];
}

/** A manual line. The `revoked_*` fields are null unless the line was revoked. */
export interface ManualLineRow {
  line_id: bigint;
  workspace_id: string;
  period: Period;
  tenant_id: string;
  amount: string;
  currency: string;
  reason: string;
  actor: string;
  recorded_at: string;
  revoked_at: string | null;
  revoked_by: string | null;
  revoked_because: string | null;
}

function manualLines(
  connection: LedgerDb,
  filters: Filters,
  { after, limit, latestFirst }: Page & { latestFirst: boolean },
): ManualLineRow[] {
  const { where, values } = whereClause(filters);
  const [before, order] = latestFirst ? ['<', 'DESC'] : ['>', 'ASC'];
  const conditions = after === null ? where : `${where === '' ? 'WHERE' : `${where} AND`} line_id ${before} ?`;
  return connection
    .prepare(
      `SELECT line_id, workspace_id, period, tenant_id, amount, currency, reason, actor, recorded_at, revoked_at, revoked_by,
         revoked_because
       FROM finance_lines ${conditions} ORDER BY line_id ${order} LIMIT ?`,
    )
    .safeIntegers()
    .all(...values, ...(after === null ? [] : [after[0] ?? null]), limit ?? -1) as ManualLineRow[];
}
