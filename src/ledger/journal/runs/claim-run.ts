import { isoTime } from '../../../core/clock.ts';
import { isStillRunning, type ProcessIdentity, thisProcess } from '../../../core/process/process-liveness.ts';
import { type Randomness, systemRandomness } from '../../../core/randomness.ts';
import { CLOCK_SLACK_MS } from '../../../core/stored-time.ts';
import { LeaseHeldError } from '../../store/file/sqlite-errors.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { and, desc, eq, gt, gte, lt, max, query, sql } from '../../store/schema/drizzle.ts';
import { leases, runs } from '../../store/schema/run-tables.ts';
import { nameWorkspace } from '../../store/subjects.ts';
import { requireRead } from '../ended.ts';
import type { Window } from '../staging/staging.ts';

/** How long a lease lasts without a renewal. Longer than a merge, shorter than anyone's patience. */
export const LEASE_MS = 60_000;

export type RunKind = (typeof runs.$inferSelect)['kind'];

export interface ClaimRequest {
  workspaceId: string;
  workspaceName: string;
  kind: RunKind;
  /** The cron slot that caused the run, ISO-8601 UTC; null by hand. */
  slot: string | null;
  window: Window;
  nowMs: number;
}

export interface ClaimedRun {
  runKey: number;
  runId: string;
  workspaceKey: number;
  workspaceId: string;
  fencingToken: number;
  window: Window;
  /** No run of this workspace has been applied yet: alerts are seeded silently. */
  first: boolean;
}

/** The slot is done already: a job that was handed out twice ends here. */
export interface SlotDone {
  doneBy: string;
}

/** The process that claims, its source of chance, and how it sees whether another process runs; default: the system's. */
export interface LeaseHolder {
  holder?: ProcessIdentity;
  randomness?: Randomness;
  isRunning?: typeof isStillRunning;
}

/**
 * Claims a workspace for one run: takes its lease with a higher fencing token and writes the run's row. A lease of a
 * live run is an error that says how long to wait. An expired lease, or one whose process on this machine is gone, is taken
 * over, and its run is marked superseded.
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
  const { workspaceKey, firstRunKey } = nameWorkspace(connection, { workspaceId, name: request.workspaceName });
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
 * The id of the run that did a slot; null when there is none. If a later run began before the slot, or in the future, the
 * clock was ahead when the slot was done: then it is due again.
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

/** Marks the run that lost the lease as superseded, in the transaction that took it. */
export function supersedeRunning(connection: LedgerDb, workspaceKey: number, at: string): void {
  const errorMessage = 'its process ended, or stopped for longer than its lease, before it was applied';
  query(connection)
    .update(runs)
    .set({ status: 'superseded', finishedAt: at, errorCode: 'superseded', errorMessage })
    .where(and(eq(runs.workspaceKey, workspaceKey), eq(runs.status, 'running')))
    .run();
}

/** Extends the lease of a run; false when another run has taken the workspace meanwhile. */
export function renewLease(connection: LedgerDb, run: ClaimedRun, nowMs: number): boolean {
  const { changes } = query(connection)
    .update(leases)
    .set({ expiresAt: isoTime(nowMs + LEASE_MS) })
    .where(and(isLeaseOf(run), eq(leases.released, 0)))
    .run();
  return changes === 1;
}

/** Whether this run may still apply. Only meaningful inside the transaction that applies. */
export function holdsLease(connection: LedgerDb, run: ClaimedRun): boolean {
  const isHeld = and(isLeaseOf(run), eq(leases.released, 0));
  return query(connection).select().from(leases).where(isHeld).get() !== undefined;
}

/** Selects the lease while it has this run's token: nobody has taken the workspace since. */
function isLeaseOf({ workspaceKey, fencingToken }: { workspaceKey: number; fencingToken: number }) {
  return and(eq(leases.workspaceKey, workspaceKey), eq(leases.fencingToken, fencingToken));
}

export function releaseLease(connection: LedgerDb, run: { workspaceKey: number; fencingToken: number }): void {
  query(connection).update(leases).set({ released: 1 }).where(isLeaseOf(run)).run();
}

/** Frees all leases of a copied ledger: their holders work on the original. */
export function releaseAllLeases(connection: LedgerDb): void {
  query(connection).update(leases).set({ released: 1 }).run();
}

/**
 * Shortens leases that end later than a lease's length from now: one that was written before the clock was set back would
 * hold its workspace for too long. Call it before the transaction that takes a lease, whose rollback would undo it.
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
 * Takes the lease of a workspace with a higher token, or throws `LeaseHeldError` while a live run holds it, and
 * `WorkspaceEndedError` once the workspace was ended.
 */
export function takeLease(
  connection: LedgerDb,
  workspaceKey: number,
  request: { workspaceId: string; nowMs: number },
  { holder = thisProcess(), isRunning = isStillRunning }: LeaseHolder = {},
): number {
  requireRead(connection, workspaceKey);
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
