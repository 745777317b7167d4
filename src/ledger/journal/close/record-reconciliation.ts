import { AppError } from '../../../core/errors.ts';
import type { Period } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { invoiceNumbers, periodEvents, reconciliations } from '../../store/schema/billing-tables.ts';
import { and, desc, eq, query } from '../../store/schema/drizzle.ts';
import { acts } from '../../store/schema/workspace-tables.ts';
import { findPeriodOf, findTenant } from '../../store/subjects.ts';
import { type ActLink, appendAct } from '../acts.ts';
import { headOfChain } from '../runs/digest.ts';

export interface ReconciliationRequest {
  workspaceId: string;
  period: Period;
  /** Digest of the close that the invoice file was compared with. */
  closeDigest: string;
  file: { name: string; sha256: string };
  counts: { matched: number; missing: number; extra: number; different: number };
  tolerance: string;
  amounts: readonly { currency: string; ledger: string; invoice: string }[];
  /** Invoice numbers to record. Numbers of tenants that the ledger does not have are ignored. */
  numbers: readonly { tenantId: string; currency: string; number: string }[];
  by: string;
  note: string;
  nowMs: number;
}

/**
 * Records the result of comparing a period with invoices, and the invoice numbers, as a link of the chain. Throws
 * AppError `not_closed`.
 */
export function recordReconciliation(connection: LedgerDb, request: ReconciliationRequest): ActLink {
  const { workspaceId, period, file, counts, tolerance, by, note, nowMs } = request;
  return connection
    .transaction(() => {
      const found = findPeriodOf(connection, workspaceId, period);
      const db = query(connection);
      const isClose = eq(periodEvents.eventSeq, found?.closedSeq ?? 0);
      const close = db.select({ digest: periodEvents.digest }).from(periodEvents).where(isClose).get();
      if (found?.closedSeq == null || close?.digest !== request.closeDigest) {
        throw new AppError(
          'not_closed',
          `${period} of ${JSON.stringify(workspaceId)} has no close that matches the comparison`,
          {
            hint: 'close it, then compare the invoices again',
          },
        );
      }
      const { periodKey, workspaceKey, closedSeq: closeSeq } = found;
      const place = { actSeq: headOfChain(connection).seq + 1, periodKey, closeSeq };
      db.insert(reconciliations)
        .values({
          ...place,
          fileName: file.name,
          fileSha256: file.sha256,
          ...counts,
          tolerance,
          amounts: JSON.stringify(request.amounts),
        })
        .run();
      for (const { tenantId, currency, number } of request.numbers) {
        const tenant = findTenant(connection, workspaceKey, tenantId);
        if (tenant === undefined) continue;
        db.insert(invoiceNumbers)
          .values({ ...place, tenantKey: tenant.tenantKey, currency, number })
          .run();
      }
      return appendAct(connection, { workspaceId, workspaceKey, action: 'reconcile', by, note, nowMs });
    })
    .immediate();
}

/**
 * Finds an earlier reconciliation of the current close with the same result, file, actor and note, and returns its
 * link; null if there is none.
 */
export function findEqualReconciliation(connection: LedgerDb, request: ReconciliationRequest): ActLink | null {
  const found = findPeriodOf(connection, request.workspaceId, request.period);
  if (found?.closedSeq == null) return null;
  const { matched, missing, extra, different } = reconciliations;
  const isSameResult = and(
    eq(reconciliations.closeSeq, found.closedSeq),
    eq(reconciliations.periodKey, found.periodKey),
    eq(reconciliations.fileName, request.file.name),
    eq(reconciliations.fileSha256, request.file.sha256),
    eq(matched, request.counts.matched),
    eq(missing, request.counts.missing),
    eq(extra, request.counts.extra),
    eq(different, request.counts.different),
    eq(reconciliations.tolerance, request.tolerance),
    eq(reconciliations.amounts, JSON.stringify(request.amounts)),
  );
  const isSameAct = and(eq(acts.actor, request.by), eq(acts.note, request.note));
  const link = query(connection)
    .select({ seq: acts.actSeq, digest: acts.digest })
    .from(reconciliations)
    .innerJoin(acts, eq(acts.actSeq, reconciliations.actSeq))
    .where(and(isSameResult, isSameAct))
    .orderBy(desc(acts.actSeq))
    .limit(1)
    .get();
  return link ?? null;
}
