import { isoTime } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import { minorDigits } from '../../../core/money.ts';
import { type Period, periodAt } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { type CorrectionCause, chargeCorrections, manualLines } from '../../store/schema/billing-tables.ts';
import { and, asc, eq, isNull, query } from '../../store/schema/drizzle.ts';
import { periodKeyOf, periodOfKey } from '../../store/schema/keys.ts';
import {
  ensurePeriod,
  findPeriod,
  findTenant,
  findWorkspace,
  tenantIdOf,
  workspaceOfPeriod,
} from '../../store/subjects.ts';
import { type ActLink, appendAct } from '../acts.ts';
import { ensureBookingPeriod, ensureCoveredPeriod } from '../close/adjustments.ts';
import { requireNotRetired } from '../retired-workspaces.ts';
import { headOfChain } from '../runs/digest.ts';

/** The largest amount of a manual line, in minor units. A thousand such lines still sum to less than 64 bits. */
export const MAX_LINE_MINOR = 10n ** 15n;

export interface AddLineRequest {
  workspaceId: string;
  tenantId: string;
  period: Period;
  amountMinor: bigint;
  currency: string;
  /** The reason for the line, which the tenant's statement shows. */
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

/** A line that was added or revoked, with the link of the chain that records it. */
export interface LineChange extends ActLink {
  lineId: number;
  tenantId: string;
  period: Period;
  amountMinor: bigint;
  currency: string;
  reason: string;
  /**
   * The period in which a correction for the line is booked, because the line's own period is closed. Null when the
   * document of its own period contains the line, or nothing had to be corrected.
   */
  bookedPeriod: Period | null;
}

type Line = typeof manualLines.$inferSelect;

/**
 * Adds a manual line to a tenant's amount due for a month. Throws AppError when the tenant or the month is unknown, or
 * an identical line is in force.
 */
export function addLine(connection: LedgerDb, request: AddLineRequest): LineChange {
  const { workspaceId, tenantId, period, amountMinor, currency, reason, by, nowMs } = request;
  return connection
    .transaction(() => {
      const { workspaceKey = 0 } = findWorkspace(connection, workspaceId) ?? {};
      requireNotRetired(connection, workspaceKey);
      const db = query(connection);
      const tenant = findTenant(connection, workspaceKey, tenantId);
      if (tenant === undefined) {
        const what = `workspace ${JSON.stringify(workspaceId)} has no tenant ${JSON.stringify(tenantId)}`;
        throw new AppError('unknown_tenant', what, { hint: 'run `usage-ledger tenants list` to see all tenants' });
      }
      const { tenantKey } = tenant;
      const periodKey = requirePeriodKey(connection, { workspaceKey, workspaceId, period, nowMs });
      const columns = { periodKey, tenantKey, amountMinor, currency, reason };
      refuseDuplicate(connection, columns);
      const minorUnits = 10 ** minorDigits(currency);
      const { seq: afterSeq } = headOfChain(connection);
      const row = { ...columns, minorUnits, actor: by, recordedAt: isoTime(nowMs), afterSeq };
      const line = db.insert(manualLines).values(row).returning().get();
      return recordLine(connection, line, { cause: 'line', by, note: reason, nowMs });
    })
    .immediate();
}

/** Revokes a manual line. Throws AppError when the line is unknown or was revoked before. */
export function revokeLine(connection: LedgerDb, { lineId, by, reason, nowMs }: RevokeRequest): LineChange {
  return connection
    .transaction(() => {
      const isLine = eq(manualLines.lineId, lineId);
      const found = query(connection).select().from(manualLines).where(isLine).get();
      const hint = 'run `usage-ledger lines list` to see all lines';
      if (found === undefined) throw new AppError('unknown_line', `line ${lineId} does not exist`, { hint });
      if (found.revokedAt !== null) {
        const what = `line ${lineId} was revoked at ${found.revokedAt} by ${found.revokedBy}`;
        throw new AppError('line_revoked', what, { hint });
      }
      const { seq: revokedAfterSeq } = headOfChain(connection);
      const revoked = { revokedAt: isoTime(nowMs), revokedBy: by, revokedBecause: reason, revokedAfterSeq };
      const line = query(connection).update(manualLines).set(revoked).where(isLine).returning().get() as Line;
      return recordLine(connection, line, { cause: 'revocation', by, note: reason, nowMs });
    })
    .immediate();
}

/**
 * Reverses the corrections for manual lines of a reopened period, because the document of an open period already
 * includes these lines.
 */
export function correctLinesByReopen(connection: LedgerDb, periodKey: number): void {
  const ofPeriod = query(connection).select().from(manualLines).where(eq(manualLines.periodKey, periodKey));
  for (const line of ofPeriod.orderBy(asc(manualLines.lineId)).all()) correctLine(connection, line, 'reopen');
}

/**
 * Books the difference between a line's current value (0 if revoked) and the amounts already charged for it in the
 * document of its own month and in corrections. The document of a closed month includes the line if the line was in
 * force at the close; the document of an open month includes it if it is in force now. Returns the period of the
 * booking; null when there is no difference.
 */
function correctLine(connection: LedgerDb, line: Line, cause: CorrectionCause): Period | null {
  const { lineId, periodKey, tenantKey, amountMinor, afterSeq, revokedAt } = line;
  const worth = revokedAt === null ? amountMinor : 0n;
  const closedSeq = findPeriod(connection, periodKey)?.closedSeq ?? null;
  // While the month is closed, this function is not called for a line that was revoked before the close.
  const stated = closedSeq === null ? worth : afterSeq < closedSeq ? amountMinor : 0n;
  const { correctsPeriodKey, tenantKey: ofTenant, lineId: ofLine, amountMinor: minor } = chargeCorrections;
  const isOwn = and(eq(correctsPeriodKey, periodKey), eq(ofTenant, tenantKey), eq(ofLine, lineId));
  const db = query(connection);
  const corrections = db.select({ minor }).from(chargeCorrections).where(isOwn).all();
  const booked = corrections.reduce((sum, correction) => sum + (correction.minor ?? 0n), 0n);
  const due = worth - stated - booked;
  if (due === 0n) return null;
  const bookedPeriodKey = ensureBookingPeriod(connection, periodKey);
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

function recordLine(
  connection: LedgerDb,
  line: Line,
  { cause, ...act }: { cause: CorrectionCause; by: string; note: string; nowMs: number },
): LineChange {
  const { lineId, tenantKey, periodKey, amountMinor, currency, reason } = line;
  const bookedPeriod = correctLine(connection, line, cause);
  const { workspaceKey, workspaceId } = workspaceOfPeriod(connection, periodKey);
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

/**
 * Returns the key of a month that the ledger has data for, or of the current month, because a fee may be added before
 * the month's first run. Throws for any other month.
 */
function requirePeriodKey(
  connection: LedgerDb,
  {
    workspaceKey,
    workspaceId,
    period,
    nowMs,
  }: Pick<AddLineRequest, 'workspaceId' | 'period' | 'nowMs'> & {
    workspaceKey: number;
  },
): number {
  const periodKey = periodKeyOf(workspaceKey, period);
  if (findPeriod(connection, periodKey) !== undefined) return periodKey;
  if (ensureCoveredPeriod(connection, workspaceKey, period) !== undefined) return periodKey;
  if (period !== periodAt(nowMs)) {
    const what = `the ledger has no data for ${period} in workspace ${JSON.stringify(workspaceId)}`;
    throw new AppError('unknown_period', what, {
      hint: 'add the line to a covered month, or to the current month',
    });
  }
  ensurePeriod(connection, periodKey);
  return periodKey;
}

/** Throws if an identical line is in force, so that a script that runs twice does not add an amount twice. */
function refuseDuplicate(
  connection: LedgerDb,
  line: Pick<Line, 'periodKey' | 'tenantKey' | 'amountMinor' | 'currency' | 'reason'>,
): void {
  const { lineId, periodKey, tenantKey, amountMinor, currency, reason, revokedAt } = manualLines;
  const isPlace = and(eq(periodKey, line.periodKey), eq(tenantKey, line.tenantKey), isNull(revokedAt));
  const isSame = and(eq(amountMinor, line.amountMinor), eq(currency, line.currency), eq(reason, line.reason));
  const found = query(connection).select({ lineId }).from(manualLines).where(and(isPlace, isSame)).get();
  if (found === undefined) return;
  throw new AppError('line_exists', `line ${found.lineId} is identical`, {
    hint: 'to add it twice, give this one a different reason',
  });
}
