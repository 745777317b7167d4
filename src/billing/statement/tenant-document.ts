import type { StatementDocument } from './document.ts';

/** Names the form of the document; another one gets another name. */
export const TENANT_FORMAT = 'usage-ledger/tenant-statement/1';

/**
 * The statement of one tenant as it may be handed to it: its own figures and, of a closed period, its leaf, the way to the root
 * and the public part of the close's line. Nothing of it speaks of others, of who closed, or of how many tenants there are. Null
 * where the close is from before closes were salted: its line shows all of that.
 */
export function tenantDocument(statement: StatementDocument) {
  const { workspace_id, period, state, estimate, as_of, proof } = statement;
  const [tenant] = statement.tenants;
  if (tenant === undefined || (proof === null ? state === 'closed' : proof.internal === undefined)) return null;
  const { proof: leaf, ...own } = tenant;
  return {
    format: TENANT_FORMAT,
    ...{ workspace_id, period, state, estimate, as_of },
    ...own,
    proof:
      proof === null || leaf === null
        ? null
        : { close: proof.close, close_digest: proof.close_digest, root: proof.root, tenant: leaf },
  };
}

export type TenantDocument = NonNullable<ReturnType<typeof tenantDocument>>;
