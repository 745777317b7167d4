import { isoTime } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import { minorDigits } from '../../../core/money.ts';
import { type Period, periodAt } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { type CorrectionCause, chargeCorrections, manualLines } from '../../store/schema/billing-tables.ts';
import { and, asc, eq, isNull, query } from '../../store/schema/drizzle.ts';
import { periodKeyOf, periodOfKey } from '../../store/schema/keys.ts';
import { ensurePeriod, findPeriod, findTenant, findWorkspace, tenantIdOf, workspaceOf } from '../../store/subjects.ts';
import { type ActLink, appendAct } from '../acts.ts';
import { addQuietPeriod, bookingPeriodKey } from '../close/adjustments.ts';
import { requireRead } from '../ended.ts';
import { headOfChain } from '../runs/digest.ts';

/** In minor units: a thousand of the largest lines still sum to what a row can hold. */
export const LARGEST_LINE = 10n ** 15n;

export interface LineRequest {
  workspaceId: string;
  tenantId: string;
  period: Period;
  amountMinor: bigint;
  currency: string;
  /** The tenant reads it. */
  reason: string;
  by: string;
  nowMs: number;
}

export interface RevokeRequest {
  lineId: number;
  by: string;
  reason: string;
  nowMs: number;
}

/** A line that was added or revoked, with the link of the chain that says so. */
export interface LineReport extends ActLink {
  lineId: number;
  tenantId: string;
  period: Period;
  amountMinor: bigint;
  currency: string;
  reason: string;
  /** The period is closed: a correction in this one bears it. Null: its own document does, or both documents had nothing of it. */
  bookedPeriod: Period | null;
}

type Line = typeof manualLines.$inferSelect;

/** Adds a line by hand to what a tenant owes for a month. Throws AppError when workspace, tenant or month are not known. */
export function addLine(connection: LedgerDb, request: LineRequest): LineReport {
  const { workspaceId, tenantId, period, amountMinor, currency, reason, by, nowMs } = request;
  return connection
    .transaction(() => {
      const { workspaceKey = 0 } = findWorkspace(connection, workspaceId) ?? {};
      requireRead(connection, workspaceKey);
      const db = query(connection);
      const tenant = findTenant(connection, workspaceKey, tenantId);
      if (tenant === undefined) {
        const what = `workspace ${JSON.stringify(workspaceId)} has no tenant ${JSON.stringify(tenantId)}`;
        throw new AppError('unknown_tenant', what, { hint: '`usage-ledger tenants list` has all of them' });
      }
      const { tenantKey } = tenant;
      const periodKey = requirePeriodKey(connection, { workspaceKey, workspaceId, period, nowMs });
      const said = { periodKey, tenantKey, amountMinor, currency, reason };
      refuseTwice(connection, said);
      const minorUnits = 10 ** minorDigits(currency);
      const { seq: afterSeq } = headOfChain(connection);
      const row = { ...said, minorUnits, actor: by, recordedAt: isoTime(nowMs), afterSeq };
      const line = db.insert(manualLines).values(row).returning().get();
      return record(connection, line, { cause: 'line', by, note: reason, nowMs });
    })
    .immediate();
}

/** Takes a line by hand back. Throws AppError when it is not known, or was revoked before. */
export function revokeLine(connection: LedgerDb, { lineId, by, reason, nowMs }: RevokeRequest): LineReport {
  return connection
    .transaction(() => {
      const isLine = eq(manualLines.lineId, lineId);
      const found = query(connection).select().from(manualLines).where(isLine).get();
      const hint = '`usage-ledger lines list` has all of them';
      if (found === undefined) throw new AppError('unknown_line', `there is no line ${lineId}`, { hint });
      if (found.revokedAt !== null) {
        const what = `line ${lineId} was revoked at ${found.revokedAt} by ${found.revokedBy}`;
        throw new AppError('line_revoked', what, { hint });
      }
      const { seq: revokedAfterSeq } = headOfChain(connection);
      const revoked = { revokedAt: isoTime(nowMs), revokedBy: by, revokedBecause: reason, revokedAfterSeq };
      const line = query(connection).update(manualLines).set(revoked).where(isLine).returning().get() as Line;
      return record(connection, line, { cause: 'revocation', by, note: reason, nowMs });
    })
    .immediate();
}

/** Takes back what was booked of the lines of a period that is open again, and whose own document has them. */
export function correctLinesByReopen(connection: LedgerDb, periodKey: number): void {
  const ofPeriod = query(connection).select().from(manualLines).where(eq(manualLines.periodKey, periodKey));
  for (const line of ofPeriod.orderBy(asc(manualLines.lineId)).all()) correctLine(connection, line, 'reopen');
}

/**
 * Books what all documents about a line still lack: what it is worth now, less what its own month's document and the corrections
 * say of it. The document of a closed month has it when it was in force at the close, that of another one while it is.
 */
function correctLine(connection: LedgerDb, line: Line, cause: CorrectionCause): Period | null {
  const { lineId, periodKey, tenantKey, amountMinor, afterSeq, revokedAt } = line;
  const worth = revokedAt === null ? amountMinor : 0n;
  const closedSeq = findPeriod(connection, periodKey)?.closedSeq ?? null;
  // One that was revoked before the close never comes here while the month is closed.
  const stated = closedSeq === null ? worth : afterSeq < closedSeq ? amountMinor : 0n;
  const { correctsPeriodKey, tenantKey: ofTenant, lineId: ofLine, amountMinor: minor } = chargeCorrections;
  const isOwn = and(eq(correctsPeriodKey, periodKey), eq(ofTenant, tenantKey), eq(ofLine, lineId));
  const db = query(connection);
  const corrections = db.select({ minor }).from(chargeCorrections).where(isOwn).all();
  const booked = corrections.reduce((sum, correction) => sum + (correction.minor ?? 0n), 0n);
  const due = worth - stated - booked;
  if (due === 0n) return null;
  const bookedPeriodKey = bookingPeriodKey(connection, periodKey);
  db.insert(chargeCorrections)
    .values({
      bookedPeriodKey,
      tenantKey,
      correctsPeriodKey: periodKey,
      cardKey: null,
      creditsDelta: 0n,
      amountMinor: due,
      cause,
      adjustmentId: null,
      lineId,
    })
    .run();
  return periodOfKey(bookedPeriodKey);
}

function record(
  connection: LedgerDb,
  line: Line,
  { cause, ...act }: { cause: CorrectionCause; by: string; note: string; nowMs: number },
): LineReport {
  const { lineId, tenantKey, periodKey, amountMinor, currency, reason } = line;
  const bookedPeriod = correctLine(connection, line, cause);
  const { workspaceKey, workspaceId } = workspaceOf(connection, periodKey);
  return {
    ...appendAct(connection, { workspaceId, workspaceKey, action: 'line', ...act }),
    lineId,
    tenantId: tenantIdOf(connection, tenantKey),
    period: periodOfKey(periodKey),
    amountMinor,
    currency,
    reason,
    bookedPeriod,
  };
}

/** A month that the ledger has read, or this one: a fee may come before the first run of the month. */
function requirePeriodKey(
  connection: LedgerDb,
  {
    workspaceKey,
    workspaceId,
    period,
    nowMs,
  }: Pick<LineRequest, 'workspaceId' | 'period' | 'nowMs'> & {
    workspaceKey: number;
  },
): number {
  const periodKey = periodKeyOf(workspaceKey, period);
  if (findPeriod(connection, periodKey) !== undefined) return periodKey;
  if (addQuietPeriod(connection, workspaceKey, period) !== undefined) return periodKey;
  if (period !== periodAt(nowMs)) {
    const what = `the ledger has nothing of ${period} in workspace ${JSON.stringify(workspaceId)}`;
    throw new AppError('unknown_period', what, {
      hint: 'add the line to a month that the ledger covers, or to this one',
    });
  }
  ensurePeriod(connection, periodKey);
  return periodKey;
}

/** A script that is begun again must not credit twice. */
function refuseTwice(
  connection: LedgerDb,
  line: Pick<Line, 'periodKey' | 'tenantKey' | 'amountMinor' | 'currency' | 'reason'>,
): void {
  const { lineId, periodKey, tenantKey, amountMinor, currency, reason, revokedAt } = manualLines;
  const isPlace = and(eq(periodKey, line.periodKey), eq(tenantKey, line.tenantKey), isNull(revokedAt));
  const isSame = and(eq(amountMinor, line.amountMinor), eq(currency, line.currency), eq(reason, line.reason));
  const found = query(connection).select({ lineId }).from(manualLines).where(and(isPlace, isSame)).get();
  if (found === undefined) return;
  throw new AppError('line_exists', `line ${found.lineId} says the same`, {
    hint: 'if it is wanted twice, give this one another reason',
  });
}
