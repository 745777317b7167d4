import { type Cause, whyDifferent } from '../../billing/reconcile/why.ts';
import type { StatementDocument } from '../../billing/statement/document.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { readingsOf } from '../../reports/queries/readings.ts';
import type { ReconciledRow } from './reconcile-sides.ts';

/** Says why a tenant's sides differ, as far as the ledger can tell; null for all others. */
export function causes(
  connection: LedgerConnection,
  { workspace_id: workspaceId, period, tenants }: StatementDocument,
): (row: ReconciledRow) => Cause | null {
  const byId = new Map(tenants.map((tenant) => [tenant.tenant_id, tenant]));
  const price = creditPricer(connection, workspaceId);
  return ({ tenantId, status, currency, ledger, service, invoice }) => {
    if (status !== 'different' || ledger === null) return null;
    const lines = byId.get(tenantId)?.lines.filter((line) => line.currency === currency) ?? [];
    const corrections = lines.filter(({ kind }) => kind === 'correction');
    const earlier = readingsOf(connection, { workspaceId, period, tenantId }).map((credits) => {
      const priced = price(tenantId, period, credits);
      return { credits, amountMinor: priced?.currency === currency ? priced.amountMinor : null };
    });
    const correctedMinor = corrections.reduce((sum, { amount_minor: amount }) => sum + (amount ?? 0n), 0n);
    return whyDifferent({ ledger, service, invoice }, { lines: lines.length, correctedMinor, earlier });
  };
}
