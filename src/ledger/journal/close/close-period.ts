import { isoTime } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import type { Period } from '../../../core/period.ts';
import { systemUser } from '../../../core/process/system-user.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { closeCommitments, closedUsage, periodEvents } from '../../store/schema/billing-tables.ts';
import { eq, query } from '../../store/schema/drizzle.ts';
import { tenantUsage, usageEntries } from '../../store/schema/run-tables.ts';
import { periods } from '../../store/schema/workspace-tables.ts';
import { findPeriodOf, findWorkspace, highest } from '../../store/subjects.ts';
import { sumUsage } from '../../store/sum-usage.ts';
import { capLeases, releaseLease, takeLease } from '../runs/claim-run.ts';
import { digestOfEvent, headOfChain } from '../runs/digest.ts';
import { ensureCoveredPeriod, reverseAdjustments } from './adjustments.ts';
import { type CloseBlocker, type ClosingTerms, findCloseStanding } from './close-standing.ts';
import type { PeriodEventDigestContent } from './event-line.ts';

export interface CloseRequest extends ClosingTerms {
  /** The name of the person who closes the period, stored unchanged. */
  by: string;
  note: string;
  /** True: the period is closed despite all blockers, and the blockers are recorded. */
  force: boolean;
  /** True: the period is closed despite a blocker of kind `change`, and that blocker is recorded. */
  acceptChange?: boolean;
}

export interface ReopenRequest {
  workspaceId: string;
  period: Period;
  by: string;
  note: string;
  nowMs: number;
}

/** A close or reopen as recorded in the chain. The figures are those that a close froze or a reopen released. */
export interface PeriodEvent {
  action: 'close' | 'reopen';
  workspaceId: string;
  period: Period;
  at: string;
  tenants: bigint;
  creditsUsed: bigint;
  requestCount: bigint;
  /** Blockers that a close overrode, because it was forced or the change was accepted. */
  overridden: string[];
  /** Number of adjustments that a reopen reversed. */
  reversed: number;
  eventSeq: number;
  digest: string;
}

/** The period passed to a hook inside the transaction that closes or reopens it. */
export interface PeriodAtEvent {
  connection: LedgerDb;
  periodKey: number;
  eventSeq: number;
  nowMs: number;
}

export interface Commitment {
  leaves: number;
  root: string;
  /** The secret, in hex, from which the salts of the leaves and the nonce of the close's line are derived. */
  salt: string;
  numberForm: string | null;
  lastNumber: number | null;
  letterhead: string | null;
}

/** The period cannot be closed or reopened now. The message lists every reason. */
export class CloseRefusedError extends AppError {
  readonly reasons: readonly string[];

  constructor(message: string, reasons: readonly string[], hint: string) {
    super('close_refused', [message, ...reasons.map((reason) => `  - ${reason}`)].join('\n'), { hint });
    this.reasons = reasons;
  }
}

/**
 * Freezes the figures of a period. Takes the workspace's lease, so that no run is in progress. Requires that the period
 * has ended and settled, and that two complete walks (readings of all pages) 12 h apart agree. Later changes by the
 * service become adjustments. `commit` returns the tree that the close commits to.
 */
export function closePeriod(
  connection: LedgerDb,
  request: CloseRequest,
  commit: (period: PeriodAtEvent) => Commitment,
): PeriodEvent {
  capLeases(connection, request.nowMs);
  return connection
    .transaction(() => {
      const { workspaceKey, periodKey, closedSeq } = requirePeriod(connection, request);
      if (closedSeq !== null) {
        throw new CloseRefusedError(`${request.period} is already closed`, [], 'reopen it before closing it again');
      }
      return withLease(connection, workspaceKey, request, () => {
        const { blockers: all } = findCloseStanding(connection, request);
        const isAccepted = ({ kind }: CloseBlocker) =>
          request.force || (kind === 'change' && request.acceptChange === true);
        const refused = all.filter((blocker) => !isAccepted(blocker));
        const blockers = all.map(({ reason }) => reason);
        if (refused.length > 0) {
          const reasons = refused.map(({ reason }) => reason);
          throw new CloseRefusedError(`${request.period} cannot be closed yet:`, reasons, hintFor(refused));
        }
        freezeFigures(connection, periodKey);
        const eventSeq = headOfChain(connection).seq + 1;
        insertCommitment(connection, eventSeq, commit({ connection, periodKey, eventSeq, nowMs: request.nowMs }));
        const event = appendEvent(connection, { ...request, workspaceKey, periodKey, action: 'close', blockers });
        setClosingLink(connection, periodKey, event.eventSeq);
        return event;
      });
    })
    .immediate();
}

/**
 * Reopens a closed period: deletes its frozen figures and reverses its adjustments, because the figures of an open
 * period include those changes. `afterwards` runs in the same transaction, when the period is open.
 */
export function reopenPeriod(
  connection: LedgerDb,
  request: ReopenRequest,
  afterwards?: (period: PeriodAtEvent) => void,
): PeriodEvent {
  capLeases(connection, request.nowMs);
  return connection
    .transaction(() => {
      const { workspaceKey, periodKey, closedSeq } = requirePeriod(connection, request);
      if (closedSeq === null) {
        throw new CloseRefusedError(`${request.period} is not closed`, [], 'only a closed period can be reopened');
      }
      return withLease(connection, workspaceKey, request, () => {
        const event = appendEvent(connection, { ...request, workspaceKey, periodKey, action: 'reopen', blockers: [] });
        unfreezeFigures(connection, periodKey);
        setClosingLink(connection, periodKey, null);
        afterwards?.({ connection, periodKey, eventSeq: event.eventSeq, nowMs: request.nowMs });
        return event;
      });
    })
    .immediate();
}

export function freezeFigures(connection: LedgerDb, periodKey: number): void {
  const db = query(connection);
  const figures = db.select().from(tenantUsage).where(eq(tenantUsage.periodKey, periodKey));
  db.insert(closedUsage).select(figures).run();
}

export function unfreezeFigures(connection: LedgerDb, periodKey: number): void {
  query(connection).delete(closedUsage).where(eq(closedUsage.periodKey, periodKey)).run();
}

/** Records the link of the chain that closed a period. With null, the period is open again. */
export function setClosingLink(connection: LedgerDb, periodKey: number, closedSeq: number | null): void {
  query(connection).update(periods).set({ closedSeq }).where(eq(periods.periodKey, periodKey)).run();
}

function hintFor(refused: readonly CloseBlocker[]): string {
  const isChange = refused.some(({ kind }) => kind === 'change');
  const isOther = refused.some(({ kind }) => kind !== 'change');
  const accept = isChange ? 'check the change, then accept it with --accept-change and a --note' : '';
  const wait = isOther ? 'wait and sync again, or close it with --force, which is recorded' : '';
  return [accept, wait].filter((part) => part !== '').join('; ');
}

function insertCommitment(connection: LedgerDb, eventSeq: number, commitment: Commitment): void {
  const insert = query(connection)
    .insert(closeCommitments)
    .values({ eventSeq, ...commitment });
  if (insert.onConflictDoNothing().run().changes > 0) return;
  const reason = `link ${eventSeq} of the chain does not exist yet but already has a commitment`;
  const hint =
    'another program has changed the ledger: run `usage-ledger verify` to find the change, and `usage-ledger restore` to restore a backup';
  throw new CloseRefusedError('the period cannot be closed:', [reason], hint);
}

function requirePeriod(
  connection: LedgerDb,
  { workspaceId, period }: { workspaceId: string; period: Period },
): typeof periods.$inferSelect {
  const workspaceKey = findWorkspace(connection, workspaceId)?.workspaceKey;
  const found =
    findPeriodOf(connection, workspaceId, period) ??
    (workspaceKey === undefined ? undefined : ensureCoveredPeriod(connection, workspaceKey, period));
  if (found !== undefined) return found;
  throw new AppError(
    'unknown_period',
    `the ledger has no data for ${period} in workspace ${JSON.stringify(workspaceId)}`,
    { hint: 'run `usage-ledger status` to see the covered periods' },
  );
}

function withLease<T>(
  connection: LedgerDb,
  workspaceKey: number,
  request: { workspaceId: string; nowMs: number },
  work: () => T,
): T {
  const fencingToken = takeLease(connection, workspaceKey, request);
  const result = work();
  releaseLease(connection, { workspaceKey, fencingToken });
  return result;
}

interface PeriodEventRequest extends ReopenRequest {
  workspaceKey: number;
  periodKey: number;
  action: 'close' | 'reopen';
  blockers: string[];
}

function appendEvent(connection: LedgerDb, request: PeriodEventRequest): PeriodEvent {
  const { workspaceId, period, workspaceKey, periodKey, action, by, note, blockers, nowMs } = request;
  const head = headOfChain(connection);
  const eventSeq = head.seq + 1;
  const figures = sumUsage(connection, periodKey, action === 'close' ? 'now' : 'closed');
  const reversed = action === 'reopen' ? reverseAdjustments(connection, { periodKey, eventSeq, nowMs }) : 0;
  const event: PeriodEventDigestContent = {
    previousDigest: head.digest,
    eventSeq,
    action,
    workspaceId,
    period,
    at: isoTime(nowMs),
    actor: by,
    note,
    forced: blockers.length > 0 ? 1 : 0,
    overridden: JSON.stringify(blockers),
    systemUser: systemUser(),
    ...figures,
    tenants: BigInt(figures.tenants),
    lastEntryId: highest(connection, usageEntries.entryId),
  };
  const digest = digestOfEvent(connection, event);
  insertEvent(connection, event, { workspaceKey, periodKey, digest });
  return {
    action,
    workspaceId,
    period,
    at: event.at,
    ...figures,
    tenants: event.tenants,
    overridden: blockers,
    reversed,
    eventSeq,
    digest,
  };
}

/** Inserts the row of a close or reopen. Call it in a transaction. */
function insertEvent(
  connection: LedgerDb,
  { workspaceId: _, period: __, ...event }: PeriodEventDigestContent,
  row: { workspaceKey: number; periodKey: number; digest: string },
): void {
  query(connection)
    .insert(periodEvents)
    .values({ ...event, tenants: Number(event.tenants), ...row })
    .run();
}
