import { z } from 'zod';
import type { Column } from '../../reports/formats/columns.ts';
import { type NamedTenantRow, namedTenants } from '../../reports/queries/tenants.ts';
import { WORKSPACE_FILTER } from '../filters.ts';
import { listOperation } from '../operation.ts';
import { rowSchema } from '../schemas.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';

export const TENANT_COLUMNS: readonly Column<NamedTenantRow>[] = [
  { name: 'workspace_id', kind: 'id', header: 'Workspace' },
  { name: 'tenant_id', kind: 'id', header: 'Tenant' },
  { name: 'display_name', kind: 'text', header: 'Name' },
  { name: 'external_ref', kind: 'id', header: 'Reference' },
  { name: 'labels', kind: 'text', header: 'Labels', words: (labels) => labelText(labels) },
  { name: 'first_seen_at', kind: 'date' },
];

function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

export const listTenants = listOperation({
  name: 'tenants.list',
  summary: 'List tenants with their names, references and labels',
  details:
    'Use it to find the id that belongs to a name, reference or label; all other tools take ids. It has no figures: use usage_list.',
  role: 'read',
  input: z.strictObject(WORKSPACE_FILTER),
  http: { method: 'GET', path: '/tenants' },
  command: 'tenants list',
  title: 'tenants',
  member: 'rows',
  head: z.strictObject({}),
  row: rowSchema(TENANT_COLUMNS, ['display_name', 'external_ref', 'first_seen_at'], {
    labels: z.record(z.string(), z.string()),
  }),
  columns: TENANT_COLUMNS,
  keyOf: ({ workspace_id, tenant_id }) => [workspace_id, tenant_id],
  run(scope, { workspace }, { after, limit }) {
    requireKnownWorkspace(scope, workspace);
    const [workspaceId, tenantId] = (after ?? []).map(String);
    const place = workspaceId === undefined || tenantId === undefined ? null : { workspaceId, tenantId };
    return { head: {}, rows: namedTenants(scope.connection, workspace, limit ?? undefined, place) };
  },
});
