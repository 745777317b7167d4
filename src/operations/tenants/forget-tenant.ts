import { z } from 'zod';
import { changeOperation } from '../operation.ts';
import { idText, periodText, previewField } from '../schemas.ts';
import { chooseWorkspace } from '../workspace-choice.ts';
import { unknownTenant } from './missing-tenant.ts';

const COPIES_NOTE =
  'Backups, exports and sent messages keep the name; the copy in Postgres keeps it until the next publish.';

export const forgetTenant = changeOperation({
  name: 'tenants.forget',
  summary: 'Remove the names, references and labels of a tenant',
  role: 'finance',
  input: z.strictObject({
    tenant_id: idText.describe('the tenant'),
    workspace: idText.optional().describe('the workspace; required if there are several'),
    ...previewField,
  }),
  output: z.strictObject({
    workspace_id: z.string(),
    tenant_id: z.string(),
    dry_run: z.boolean(),
    forgotten: z.int().describe('the number of names'),
    named_in: z.array(periodText).describe('closed months whose statements keep the name'),
  }),
  http: { method: 'POST', path: '/tenants/{tenant_id}/forget' },
  command: 'tenants forget',
  async run({ context }, { tenant_id: tenantId, workspace, dry_run: dryRun }) {
    const { id: workspaceId } = chooseWorkspace(context.config, workspace);
    const writer = await context.existingWriter();
    const report = await writer.forgetNames({ workspaceId, tenantId, dryRun, nowMs: context.clock.now() });
    if (report === null) throw unknownTenant(workspaceId, tenantId);
    const document = {
      workspace_id: workspaceId,
      tenant_id: tenantId,
      dry_run: dryRun,
      forgotten: report.forgotten,
      named_in: report.named,
    };
    return { applied: !dryRun, document, notes: dryRun ? [] : [COPIES_NOTE] };
  },
});
