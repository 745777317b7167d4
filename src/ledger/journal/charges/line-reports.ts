import type { LedgerDb } from '../../store/ledger-db.ts';
import { type CorrectionCause, chargeCorrections, manualLines } from '../../store/schema/billing-tables.ts';
import { and, asc, eq, isNull, query } from '../../store/schema/drizzle.ts';
import { periodKeyOf, periodOfKey } from '../../store/schema/keys.ts';
import { acts } from '../../store/schema/workspace-tables.ts';
import { findTenant, findWorkspace, tenantIdOf } from '../../store/subjects.ts';
import type { AddLineRequest, LineChange, RevokeRequest } from './manual-lines.ts';

type ReportedLine = typeof manualLines.$inferSelect;

/**
 * Finds a manual line in force that the same actor added earlier with the same values. Returns the report of its
 * addition; null if there is no such line.
 */
export function findEarlierAddition(connection: LedgerDb, request: Omit<AddLineRequest, 'nowMs'>): LineChange | null {
  const { workspaceKey = 0 } = findWorkspace(connection, request.workspaceId) ?? {};
  const { tenantKey = 0 } = findTenant(connection, workspaceKey, request.tenantId) ?? {};
  const { periodKey, amountMinor, currency, reason, actor, revokedAt } = manualLines;
  const isPlace = and(
    eq(periodKey, periodKeyOf(workspaceKey, request.period)),
    eq(manualLines.tenantKey, tenantKey),
    isNull(revokedAt),
  );
  const isSame = and(
    eq(amountMinor, request.amountMinor),
    eq(currency, request.currency),
    eq(reason, request.reason),
    eq(actor, request.by),
  );
  const line = query(connection).select().from(manualLines).where(and(isPlace, isSame)).get();
  return line === undefined ? null : lineReportOf(connection, line, line.afterSeq, 'line');
}

/**
 * Returns the report of an earlier revocation of the same manual line by the same actor for the same reason; null if
 * there is none.
 */
export function findEarlierRevocation(
  connection: LedgerDb,
  { lineId, by, reason }: Omit<RevokeRequest, 'nowMs'>,
): LineChange | null {
  const line = query(connection).select().from(manualLines).where(eq(manualLines.lineId, lineId)).get();
  if (line === undefined || line.revokedBy !== by || line.revokedBecause !== reason) return null;
  return lineReportOf(connection, line, line.revokedAfterSeq ?? 0, 'revocation');
}

function lineReportOf(connection: LedgerDb, line: ReportedLine, afterSeq: number, cause: CorrectionCause): LineChange {
  const { lineId, tenantKey, periodKey, amountMinor, currency, reason } = line;
  const db = query(connection);
  // The act that changed the line is the link after `afterSeq`.
  const seq = afterSeq + 1;
  const act = db.select({ digest: acts.digest }).from(acts).where(eq(acts.actSeq, seq)).get();
  const { correctsPeriodKey, correctionId, bookedPeriodKey } = chargeCorrections;
  const isOwn = and(
    eq(correctsPeriodKey, periodKey),
    eq(chargeCorrections.tenantKey, tenantKey),
    eq(chargeCorrections.lineId, lineId),
    eq(chargeCorrections.cause, cause),
  );
  const booked = db.select({ bookedPeriodKey }).from(chargeCorrections).where(isOwn).orderBy(asc(correctionId)).get();
  return {
    seq,
    digest: act?.digest ?? '',
    lineId,
    tenantId: tenantIdOf(connection, tenantKey),
    period: periodOfKey(periodKey),
    amountMinor,
    currency,
    reason,
    bookedPeriod: booked === undefined ? null : periodOfKey(booked.bookedPeriodKey),
  };
}
