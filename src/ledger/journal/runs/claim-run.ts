import { isoTime } from '../../../core/clock.ts';
import { isStillRunning, type ProcessIdentity, thisProcess } from '../../../core/process/process-liveness.ts';
import { type Randomness, systemRandomness } from '../../../core/randomness.ts';
import { CLOCK_SLACK_MS } from '../../../core/stored-time.ts';
import { LeaseHeldError } from '../../store/file/sqlite-errors.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { and, desc, eq, gt, gte, lt, max, query, sql } from '../../store/schema/drizzle.ts';
import { leases, runs } from '../../store/schema/run-tables.ts';
import { upsertWorkspace } from '../../store/subjects.ts';
import { requireNotRetired } from '../retired-workspaces.ts';
import type { RunWindow } from '../staging/staging.ts';

/** How long a lease lasts without renewal. Longer than a merge takes, but short enough to wait for. */
export const LEASE_MS = 60_000;

export type RunKind = (typeof runs.$inferSelect)['kind'];

export interface ClaimRequest {
  workspaceId: string;
  workspaceName: string;
  kind: RunKind;
  /** The cron slot that caused the run, ISO-8601 UTC; null for a manual run. */
  slot: string | null;
  window: RunWindow;
  nowMs: number;
}

export interface ClaimedRun {
  runKey: number;
  runId: string;
  workspaceKey: number;
  workspaceId: string;
  fencingToken: number;
  window: RunWindow;
  /** True when no run of this workspace was applied before, so that alerts are recorded without notifying anyone. */
  first: boolean;
}

/**
 * Returned instead of a claim when an earlier run, whose id is `doneBy`, has already done the slot. This happens when
 * the same job is delivered twice.
 */
export interface SlotDone {
  doneBy: string;
}

/**
 * The claiming process, its source of randomness, and a test whether another process is running. Each defaults to the
 * system's.
 */
export interface LeaseHolder {
  holder?: ProcessIdentity;
  randomness?: Randomness;
  isRunning?: typeof isStillRunning;
}

/**
 * Claims a workspace for one run: takes the workspace's lease with a higher fencing token and inserts the run. Throws
 * `LeaseHeldError` with the time to wait while a live run holds the lease. If the lease has expired, or its process on
 * this machine has ended, takes over the lease and marks the earlier run as superseded.
 */
export function claimRun(
  connection: LedgerDb,
  request: ClaimRequest,
  claimant: LeaseHolder = {},
): ClaimedRun | SlotDone {
  capLeases(connection, request.nowMs);
  return connection.transaction(() => claim(connection, request, claimant)).immediate();
}

function claim(connection: LedgerDb, request: ClaimRequest, claimant: LeaseHolder): ClaimedRun | SlotDone {
  const { workspaceId, kind, slot, window } = request;
  const db = query(connection);
  const { workspaceKey, firstRunKey } = upsertWorkspace(connection, { workspaceId, name: request.workspaceName });
  const doneBy = slot === null ? null : runThatDid(connection, workspaceKey, { kind, slot, nowMs: request.nowMs });
  if (doneBy !== null) return { doneBy };
  const fencingToken = takeLease(connection, workspaceKey, request, claimant);
  const startedAt = isoTime(request.nowMs);
  supersedeRunning(connection, workspaceKey, startedAt);
  const runId = `run_${startedAt.replaceAll(/[-:.]/g, '')}_${(claimant.randomness ?? systemRandomness).bytes(4).toString('hex')}`;
  const { runKey } = db
    .insert(runs)
    .values({
      runId,
      workspaceKey,
      kind,
      slot,
      status: 'running',
      fencingToken,
      startedAt,
      fromPeriod: window.from,
      toPeriod: window.to,
    })
    .returning()
    .get();
  db.update(leases).set({ runKey }).where(eq(leases.workspaceKey, workspaceKey)).run();
  return { runKey, runId, workspaceKey, workspaceId, fencingToken, window, first: firstRunKey === null };
}

/**
 * Returns the id of the applied run that did a slot; null if the slot is due. A slot that was done while the clock was
 * ahead is due again. The clock was ahead if a later run began before the slot, or if this run or a later one is dated
 * in the future.
 */
function runThatDid(
  connection: LedgerDb,
  workspaceKey: number,
  { kind, slot, nowMs }: { kind: RunKind; slot: string; nowMs: number },
): string | null {
  const db = query(connection);
  const isOwn = eq(runs.workspaceKey, workspaceKey);
  const beganBefore = lt(runs.startedAt, isoTime(Date.parse(slot) - CLOCK_SLACK_MS));
  const earlier = db
    .select({ last: max(runs.runKey) })
    .from(runs)
    .where(and(isOwn, beganBefore))
    .get();
  const isOfSlot = and(eq(runs.kind, kind), eq(runs.slot, slot), eq(runs.status, 'applied'));
  const isSince = gte(runs.runKey, earlier?.last ?? 0);
  const done = db
    .select()
    .from(runs)
    .where(and(isOwn, isOfSlot, isSince))
    .orderBy(desc(runs.runKey))
    .limit(1)
    .get();
  if (done === undefined) return null;
  const beginsLater = gt(runs.startedAt, isoTime(nowMs + CLOCK_SLACK_MS));
  const isAhead = and(isOwn, gte(runs.runKey, done.runKey), beginsLater);
  return db.select().from(runs).where(isAhead).limit(1).get() === undefined ? done.runId : null;
}

/** Marks the running run of a workspace as superseded. Call it in the transaction that takes the workspace's lease. */
export function supersedeRunning(connection: LedgerDb, workspaceKey: number, at: string): void {
  const errorMessage = 'its process ended, or paused for longer than its lease, before the run was applied';
  query(connection)
    .update(runs)
    .set({ status: 'superseded', finishedAt: at, errorCode: 'superseded', errorMessage })
    .where(and(eq(runs.workspaceKey, workspaceKey), eq(runs.status, 'running')))
    .run();
}

/** Extends the lease of a run; returns false when another run has taken the workspace. */
export function renewLease(connection: LedgerDb, run: ClaimedRun, nowMs: number): boolean {
  const { changes } = query(connection)
    .update(leases)
    .set({ expiresAt: isoTime(nowMs + LEASE_MS) })
    .where(and(isLeaseOf(run), eq(leases.released, 0)))
    .run();
  return changes === 1;
}

/**
 * Reports whether this run still holds its lease and may be applied. Call it in the transaction that applies the run.
 */
export function holdsLease(connection: LedgerDb, run: ClaimedRun): boolean {
  const isHeld = and(isLeaseOf(run), eq(leases.released, 0));
  return query(connection).select().from(leases).where(isHeld).get() !== undefined;
}

/**
 * Returns an SQL condition that is true while this run has the lease, and false once another run has taken the
 * workspace.
 */
function isLeaseOf({ workspaceKey, fencingToken }: { workspaceKey: number; fencingToken: number }) {
  return and(eq(leases.workspaceKey, workspaceKey), eq(leases.fencingToken, fencingToken));
}

export function releaseLease(connection: LedgerDb, run: { workspaceKey: number; fencingToken: number }): void {
  query(connection).update(leases).set({ released: 1 }).where(isLeaseOf(run)).run();
}

/** Releases all leases in a copied ledger, because their holders work on the original. */
export function releaseAllLeases(connection: LedgerDb): void {
  query(connection).update(leases).set({ released: 1 }).run();
}

/**
 * Shortens leases so that none ends later than `LEASE_MS` from now. Otherwise, a lease that was written before the
 * clock was set back would block its workspace for too long. Call this before the transaction that takes a lease,
 * because a rollback would undo the change.
 */
export function capLeases(connection: LedgerDb, nowMs: number): void {
  const latest = isoTime(nowMs + LEASE_MS);
  query(connection)
    .update(leases)
    .set({ expiresAt: latest })
    .where(and(sql`${leases.released} = 0`, gt(leases.expiresAt, latest)))
    .run();
}

/**
 * Takes the lease of a workspace with a higher token. Throws `LeaseHeldError` while a live run holds it, and
 * `WorkspaceRetiredError` for a retired workspace.
 */
export function takeLease(
  connection: LedgerDb,
  workspaceKey: number,
  request: { workspaceId: string; nowMs: number },
  { holder = thisProcess(), isRunning = isStillRunning }: LeaseHolder = {},
): number {
  requireNotRetired(connection, workspaceKey);
  const db = query(connection);
  const lease = db.select().from(leases).where(eq(leases.workspaceKey, workspaceKey)).get();
  if (lease !== undefined && lease.released === 0) {
    const leftMs = Date.parse(lease.expiresAt) - request.nowMs;
    const gone = lease.holderHost === holder.host && !isRunning(lease.holderPid, lease.holderStart);
    if (leftMs > 0 && !gone) {
      const by = `process ${lease.holderPid} on ${lease.holderHost}`;
      throw new LeaseHeldError(request.workspaceId, by, leftMs);
    }
  }
  const fencingToken = (lease?.fencingToken ?? 0) + 1;
  const taken = {
    fencingToken,
    expiresAt: isoTime(request.nowMs + LEASE_MS),
    released: 0,
    holderHost: holder.host,
    holderPid: holder.pid,
    holderStart: holder.start,
  };
  db.insert(leases)
    .values({ workspaceKey, runKey: 0, ...taken })
    .onConflictDoUpdate({ target: leases.workspaceKey, set: taken })
    .run();
  return fencingToken;
}
