import type Database from 'better-sqlite3';
import { isoTime } from '../../../core/clock.ts';
import { isStillRunning, type ProcessIdentity, thisProcess } from '../../../core/process/process-liveness.ts';
import { type Randomness, systemRandomness } from '../../../core/randomness.ts';
import { CLOCK_SLACK_MS } from '../../../core/stored-time.ts';
import { LeaseHeldError } from '../../store/errors.ts';
import type { SqlRow } from '../../store/schema/rows.ts';
import type { leases, runs } from '../../store/schema/run-tables.ts';
import { isMovedAway, WorkspaceMovedError } from '../moved-away.ts';
import type { Window } from '../staging/staging.ts';

type Connection = Database.Database;

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
  /** No run of this workspace has been published yet: alerts are seeded silently. */
  first: boolean;
}

/** The slot has been done already; a job that is handed out twice ends here. */
export interface SlotDone {
  doneBy: string;
}

/** Who claims, and where the random part of a run's id comes from; this process and the system when absent. */
export interface Claimant {
  holder?: ProcessIdentity;
  randomness?: Randomness;
}

/**
 * Claims a workspace for one run: takes its lease with a higher fencing token and writes the run's row. A lease of a
 * live run is an error that says how long to wait; one that has expired, or whose process on this machine is gone,
 * is taken over, and its run is marked superseded.
 */
export function claimRun(
  connection: Connection,
  request: ClaimRequest,
  { holder = thisProcess(), randomness = systemRandomness }: Claimant = {},
): ClaimedRun | SlotDone {
  capLeases(connection, request.nowMs);
  return connection.transaction(() => claim(connection, request, holder, randomness)).immediate();
}

function claim(
  connection: Connection,
  request: ClaimRequest,
  holder: ProcessIdentity,
  randomness: Randomness,
): ClaimedRun | SlotDone {
  const workspaceKey = workspaceKeyOf(connection, request.workspaceId, request.workspaceName);
  if (request.slot !== null) {
    const doneBy = connection
      .prepare(
        // A later run that began before the slot shows that the clock was ahead when it was done: it has come again.
        `SELECT run_id FROM runs r WHERE workspace_key = @workspaceKey AND kind = @kind AND slot = @slot AND status = 'applied'
           AND NOT EXISTS (SELECT 1 FROM runs l WHERE l.workspace_key = r.workspace_key AND l.run_key > r.run_key
             AND l.started_at < @clearlyBefore)`,
      )
      .pluck()
      .get({
        ...{ workspaceKey, kind: request.kind, slot: request.slot },
        clearlyBefore: isoTime(Date.parse(request.slot) - CLOCK_SLACK_MS),
      });
    if (doneBy !== undefined) return { doneBy: String(doneBy) };
  }
  const fencingToken = takeLease(connection, workspaceKey, request, holder);
  const startedAt = isoTime(request.nowMs);
  supersedeRunning(connection, workspaceKey, startedAt);
  const runId = `run_${startedAt.replaceAll(/[-:.]/g, '')}_${randomness.bytes(4).toString('hex')}`;
  const { lastInsertRowid } = connection
    .prepare(
      `INSERT INTO runs (run_id, workspace_key, kind, slot, status, fencing_token, from_period, to_period, started_at)
       VALUES (?, ?, ?, ?, 'running', ?, ?, ?, ?)`,
    )
    .run(
      runId,
      workspaceKey,
      request.kind,
      request.slot,
      fencingToken,
      request.window.from,
      request.window.to,
      startedAt,
    );
  const runKey = Number(lastInsertRowid);
  connection.prepare('UPDATE leases SET run_key = ? WHERE workspace_key = ?').run(runKey, workspaceKey);
  const firstRunKey = connection
    .prepare('SELECT first_run_key FROM workspaces WHERE workspace_key = ?')
    .pluck()
    .get(workspaceKey);
  const { workspaceId, window } = request;
  return { runKey, runId, workspaceKey, workspaceId, fencingToken, window, first: firstRunKey === null };
}

/** Ends what the lease was taken from, in the transaction that took it. */
export function supersedeRunning(connection: Connection, workspaceKey: number, at: string): void {
  connection
    .prepare(
      `UPDATE runs SET status = 'superseded', finished_at = ?, error_code = 'superseded',
         error_message = 'its process ended, or stopped for longer than its lease, before it published'
       WHERE workspace_key = ? AND status = 'running'`,
    )
    .run(at, workspaceKey);
}

/** Extends the lease of a run; false when another run has taken the workspace meanwhile. */
export function renewLease(connection: Connection, run: ClaimedRun, nowMs: number): boolean {
  const { changes } = connection
    .prepare('UPDATE leases SET expires_at = ? WHERE workspace_key = ? AND fencing_token = ? AND released = 0')
    .run(isoTime(nowMs + LEASE_MS), run.workspaceKey, run.fencingToken);
  return changes === 1;
}

/** Whether this run may still publish. Only meaningful inside the transaction that publishes. */
export function holdsLease(connection: Connection, run: ClaimedRun): boolean {
  const token = connection
    .prepare('SELECT fencing_token FROM leases WHERE workspace_key = ? AND released = 0')
    .pluck()
    .get(run.workspaceKey);
  return token === run.fencingToken;
}

export function releaseLease(connection: Connection, run: { workspaceKey: number; fencingToken: number }): void {
  connection
    .prepare('UPDATE leases SET released = 1 WHERE workspace_key = ? AND fencing_token = ?')
    .run(run.workspaceKey, run.fencingToken);
}

/** For a copy of a ledger: whoever holds a workspace there holds it in the original. */
export function releaseAllLeases(connection: Connection): void {
  connection.prepare('UPDATE leases SET released = 1').run();
}

function workspaceKeyOf(connection: Connection, workspaceId: string, name: string): number {
  return Number(
    connection
      .prepare(
        `INSERT INTO workspaces (workspace_id, name) VALUES (?, ?)
         ON CONFLICT (workspace_id) DO UPDATE SET name = excluded.name RETURNING workspace_key`,
      )
      .pluck()
      .get(workspaceId, name),
  );
}

type LeaseRow = Omit<SqlRow<typeof leases>, 'workspace_key' | 'run_key'>;

/**
 * No lease lasts longer than its length from now on: one that was written before the clock was set back would hold its
 * workspace until the clock is there again. To be called before the transaction that takes a lease, whose refusal would
 * undo it.
 */
export function capLeases(connection: Connection, nowMs: number): void {
  const latest = isoTime(nowMs + LEASE_MS);
  connection.prepare('UPDATE leases SET expires_at = ? WHERE released = 0 AND expires_at > ?').run(latest, latest);
}

/**
 * Takes the lease of a workspace with a higher token, or throws `LeaseHeldError` while a live run holds it, and
 * `WorkspaceMovedError` once the workspace has been exported.
 */
export function takeLease(
  connection: Connection,
  workspaceKey: number,
  request: { workspaceId: string; nowMs: number },
  holder = thisProcess(),
): number {
  if (isMovedAway(connection, workspaceKey)) throw new WorkspaceMovedError(request.workspaceId);
  const lease = connection.prepare('SELECT * FROM leases WHERE workspace_key = ?').get(workspaceKey) as
    | LeaseRow
    | undefined;
  if (lease !== undefined && lease.released === 0) {
    const leftMs = Date.parse(lease.expires_at) - request.nowMs;
    const gone = lease.holder_host === holder.host && !isStillRunning(lease.holder_pid, lease.holder_start);
    if (leftMs > 0 && !gone) {
      const by = `process ${lease.holder_pid} on ${lease.holder_host}`;
      throw new LeaseHeldError(request.workspaceId, by, leftMs);
    }
  }
  const token = (lease?.fencing_token ?? 0) + 1;
  connection
    .prepare(
      `INSERT INTO leases
         (workspace_key, fencing_token, run_key, holder_host, holder_pid, holder_start, expires_at, released)
       VALUES (?, ?, 0, ?, ?, ?, ?, 0)
       ON CONFLICT (workspace_key) DO UPDATE SET fencing_token = excluded.fencing_token,
         holder_host = excluded.holder_host, holder_pid = excluded.holder_pid, holder_start = excluded.holder_start,
         expires_at = excluded.expires_at, released = 0`,
    )
    .run(workspaceKey, token, holder.host, holder.pid, holder.start, isoTime(request.nowMs + LEASE_MS));
  return token;
}
