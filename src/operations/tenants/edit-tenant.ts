import { z } from 'zod';
import { namedTenant } from '../../reports/queries/tenants.ts';
import { changeOperation } from '../operation.ts';
import { idText } from '../schemas.ts';
import { chooseWorkspace } from '../workspace-choice.ts';
import { labelsSchema, nameText, toTenantName } from './import-names.ts';
import { unknownTenant } from './missing-tenant.ts';

export const editTenant = changeOperation({
  name: 'tenants.edit',
  summary: 'Change the name, reference or labels of a tenant',
  role: 'finance',
  input: z.strictObject({
    tenant_id: idText.describe('the tenant'),
    workspace: idText.optional().describe('the workspace; required if there are several'),
    display_name: nameText.optional().describe('null removes the name; if this field is missing, the name is kept'),
    external_ref: nameText
      .optional()
      .describe('null removes the reference; if this field is missing, the reference is kept'),
    labels: labelsSchema.optional().describe('all labels of the tenant; if this field is missing, the labels are kept'),
  }),
  output: z.strictObject({
    workspace_id: z.string(),
    tenant_id: z.string(),
    display_name: z.string().nullable(),
    external_ref: z.string().nullable(),
    labels: z.record(z.string(), z.string()),
  }),
  http: { method: 'POST', path: '/tenants/{tenant_id}' },
  command: null,
  async run({ context, connection }, { tenant_id: tenantId, workspace, ...edit }) {
    const { id: workspaceId } = chooseWorkspace(context.config, workspace);
    const writer = await context.existingWriter();
    const before = namedTenant(connection, workspaceId, tenantId);
    if (before === null) throw unknownTenant(workspaceId, tenantId);
    const name = {
      tenant_id: tenantId,
      display_name: edit.display_name === undefined ? before.display_name : edit.display_name,
      external_ref: edit.external_ref === undefined ? before.external_ref : edit.external_ref,
      labels: edit.labels ?? { ...before.labels },
    };
    const request = { workspaceId, names: [toTenantName(name)], dryRun: false, nowMs: context.clock.now() };
    await writer.importNames(request);
    return { applied: true, document: { workspace_id: workspaceId, ...name }, notes: [] };
  },
});
