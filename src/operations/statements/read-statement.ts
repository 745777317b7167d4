import { z } from 'zod';
import { type DocumentTenant, type StatementDocument, statementForTenant } from '../../billing/statement/document.ts';
import { AppError } from '../../core/errors.ts';
import { type StatementStream, streamStatement } from '../../ledger/journal/charges/read-statement.ts';
import { pageAssets } from '../../reports/statement/page-assets.ts';
import { statementPage } from '../../reports/statement/statement-page.tsx';
import { tenantPage } from '../../reports/statement/tenant-page.tsx';
import { TENANT_FILTER } from '../filters.ts';
import { documentOperation, type Listing, listOperation, type Scope } from '../operation.ts';
import { idText, periodText } from '../schemas.ts';
import { chooseWorkspace, unknownPeriod } from '../workspace-choice.ts';
import { statementHeadSchema, statementTailSchema, statementTenantSchema } from './statement-schema.ts';

const PLACE = {
  period: periodText.describe('the month'),
  workspace: idText.optional().describe('the workspace; required when several are configured'),
};

export type StatementHead = StatementStream['begin'];

/** The listing of a statement. Its tenants are read from the ledger while it is written. */
export interface StatementListing extends Listing<DocumentTenant, StatementHead> {
  tail: StatementStream['end'];
  invoiceOf: StatementStream['invoiceOf'];
}

export const readStatement = listOperation({
  name: 'statements.list',
  summary: 'Show the amount due from each tenant for a month; for a closed month, with a proof',
  details:
    "The document of the month's amounts with their lines: usage by tier, discounts, minimums, corrections, manual lines. Set `proof` to false unless somebody has to prove an amount. It is an estimate while `estimate` is true. For sums over months or customers use charges_list, which is much shorter.",
  role: 'read',
  input: z.strictObject({
    ...PLACE,
    ...TENANT_FILTER,
    proof: z.boolean().optional().describe('false leaves out the proofs, which take most of the time'),
  }),
  http: { method: 'GET', path: '/statements/{period}' },
  command: 'statement',
  title: 'statement',
  member: 'tenants',
  head: statementHeadSchema,
  row: statementTenantSchema,
  tail: statementTailSchema,
  columns: null,
  keyOf: ({ tenant_id }) => [tenant_id],
  // The totals and the proof cover all tenants of the month.
  isSlow: () => true,
  run(scope, { period, workspace, tenant, proof }, { after }): StatementListing {
    const { begin, end, tenants, invoiceOf } = openStatement(scope, { period, workspace, tenant, proof });
    return { head: begin, rows: tenantsAfter(tenants(), after?.[0]), tail: end, invoiceOf };
  },
  page: ({ head, rows }) => statementPage(head, rows),
});

/** Yields the tenants after the tenant with the id `after`. The tenants are in the byte order of their ids. */
function* tenantsAfter(
  tenants: Iterable<DocumentTenant>,
  after: string | number | bigint | null | undefined,
): Generator<DocumentTenant> {
  const afterId = after === undefined || after === null ? null : Buffer.from(String(after));
  for (const tenant of tenants) {
    if (afterId === null || Buffer.compare(Buffer.from(tenant.tenant_id), afterId) > 0) yield tenant;
  }
}

export const tenantStatement = documentOperation({
  name: 'statements.show',
  summary: 'Show the statement of one tenant, without data of other tenants',
  details:
    'The document for one customer, with its lines and, for a closed month, the proof of its amounts. It names no other tenant, so it may be passed on.',
  role: 'read',
  input: z.strictObject({ ...PLACE, tenant_id: idText.describe('the tenant') }),
  output: statementHeadSchema.extend({
    tenants: z.array(statementTenantSchema),
    ...statementTailSchema.shape,
  }),
  http: { method: 'GET', path: '/statements/{period}/{tenant_id}' },
  command: 'statement --for-tenant',
  isSlow: true,
  page: (statement) => [tenantPage(statement as StatementDocument, pageAssets())],
  run(scope, { period, workspace, tenant_id }): StatementDocument {
    return scope.connection.transaction(() => {
      const { begin, end, tenants } = openStatement(scope, { period, workspace, tenant: tenant_id, proof: true });
      const listed = [...tenants()];
      if (listed.length > 0) return statementForTenant({ ...begin, tenants: listed, ...end });
      throw new AppError('unknown_tenant', `no tenant ${JSON.stringify(tenant_id)} in the statement of ${period}`, {
        hint: 'see the tenants of the month with `usage-ledger statement`',
      });
    })();
  },
});

function openStatement(
  { connection, context }: Scope,
  wanted: { period: string; workspace: string | undefined; tenant: string | undefined; proof: boolean | undefined },
): StatementStream {
  const { period, workspace, tenant: tenantId, proof: proven = true } = wanted;
  const { id: workspaceId } = chooseWorkspace(context.config, workspace);
  const statement = streamStatement(connection, { workspaceId, period, tenantId, nowMs: context.clock.now(), proven });
  if (statement === null) throw unknownPeriod(period, workspaceId);
  return statement;
}
