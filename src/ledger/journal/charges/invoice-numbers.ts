import type { LedgerDb } from '../../store/ledger-db.ts';
import { workspaceKeyOf } from '../../store/schema/keys.ts';
import type { PeriodPlace } from './read-billed.ts';

/**
 * Returns the number of a tenant's invoice in a currency, which `reconcile --record` stores after the close; null if
 * none is stored.
 */
export type InvoiceNumberLookup = (tenantId: string, currency: string | null) => string | null;

export function readInvoiceNumbers(connection: LedgerDb, { periodKey, closedSeq }: PeriodPlace): InvoiceNumberLookup {
  const known = connection.prepare('SELECT 1 FROM invoice_numbers WHERE close_seq = ? LIMIT 1').get(closedSeq);
  if (known === undefined) return () => null;
  const number = connection
    .prepare(
      `SELECT n.number FROM tenants t JOIN invoice_numbers n ON n.close_seq = ? AND n.tenant_key = t.tenant_key
       WHERE t.workspace_key = ? AND t.tenant_id = ? AND n.currency = ? ORDER BY n.act_seq DESC LIMIT 1`,
    )
    .pluck();
  const workspaceKey = workspaceKeyOf(periodKey);
  return (tenantId, currency) =>
    (number.get(closedSeq, workspaceKey, tenantId, currency) as string | undefined) ?? null;
}
