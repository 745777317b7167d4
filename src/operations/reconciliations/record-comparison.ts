import {
  findEqualReconciliation,
  type ReconciliationRequest,
} from '../../ledger/journal/close/record-reconciliation.ts';
import { checkpointNotes } from '../checkpoint-notes.ts';
import { actorText, type Scope } from '../operation.ts';
import type { ReconciledWorkspace } from './read-sides.ts';
import { sumReconciliation } from './reconciliation-record.ts';

interface RecordRequest {
  period: string;
  tolerance: string;
  note: string;
}

/** The comparison of one workspace, in the form that the ledger records. */
export interface ComparisonToRecord
  extends Pick<ReconciliationRequest, 'workspaceId' | 'closeDigest' | 'file' | 'counts' | 'amounts' | 'numbers'> {}

/** Returns the part of a comparison that is recorded: its sums, and the invoice numbers of each tenant. */
export function comparisonToRecord(
  { statement, customers, invoices, tenants, currencies }: ReconciledWorkspace,
  file: ComparisonToRecord['file'],
): ComparisonToRecord {
  const { tenants: counts, amounts } = sumReconciliation(tenants, currencies);
  const named = invoices.filter(({ invoice, currency }) => invoice !== null && currency !== null);
  const byTenant = Map.groupBy(
    named.flatMap((line) => customers.tenantsOf(line.tenantId).map((tenantId) => ({ ...line, tenantId }))),
    ({ tenantId, currency }) => JSON.stringify([tenantId, currency]),
  );
  const numbers = [...byTenant.values()].map((lines) => ({
    tenantId: lines[0]?.tenantId ?? '',
    currency: lines[0]?.currency ?? '',
    number: [...new Set(lines.map(({ invoice }) => invoice))].join(', '),
  }));
  const { workspace_id: workspaceId, head_digest: closeDigest } = statement;
  return { workspaceId, closeDigest: closeDigest ?? '', file, counts, amounts, numbers };
}

/**
 * Records a comparison in the ledger's chain of events and returns notes for the caller. If the same actor already
 * recorded the same result of the same file, nothing is written.
 */
export async function recordComparison(
  { context, connection, actor }: Scope,
  comparison: ComparisonToRecord,
  { period, tolerance, note }: RecordRequest,
): Promise<string[]> {
  const request = { ...comparison, period, tolerance, by: actorText(actor), note, nowMs: context.clock.now() };
  const writer = await context.existingWriter();
  const before = findEqualReconciliation(connection, request);
  const link = before === null ? await writer.recordReconciliation(request) : { ...before, checkpointFault: null };
  const { workspaceId } = comparison;
  return [`${workspaceId}, ${period}: reconciliation recorded, head digest ${link.digest}`, ...checkpointNotes(link)];
}
