import type { RunFault } from '../alerts/rules/sync-failed/detect.ts';
import type { EvaluationResult } from '../alerts/state/alert-change.ts';
import { summarizeError } from '../core/errors.ts';
import type { ApplyResult } from '../ledger/journal/runs/apply-run.ts';
import type { ClaimedRun, RunKind } from '../ledger/journal/runs/claim-run.ts';
import type { RunFailure, WalkRecord } from '../ledger/journal/runs/fail-run.ts';
import type { RunWindow } from '../ledger/journal/staging/staging.ts';
import { UnauthorizedError } from '../usage-api/errors.ts';
import { refuseSuspiciousListing } from './refuse-suspicious.ts';
import { addWaitToMessage, type NextSlot, startRunDeadline } from './run-deadline.ts';
import { keepRunLease } from './run-lease.ts';
import type { SyncDeps } from './sync-deps.ts';
import { type SyncProgress, walkUntilVerified } from './walk-until-verified.ts';
import { confirmWithdrawals } from './withdrawals.ts';

export interface SyncRequest {
  kind: RunKind;
  slot: string | null;
  /**
   * Returns the time of the next scheduled run, or the latest possible time if it is not known exactly. Absent for a
   * manual run.
   */
  nextSlot?: NextSlot;
  window: RunWindow;
  signal: AbortSignal;
  onProgress?: (progress: SyncProgress) => void;
}

export type SyncOutcome =
  | ({
      status: 'applied';
      workspaceId: string;
      window: RunWindow;
      walks: number;
      pages: number;
      records: number;
    } & Omit<ApplyResult<EvaluationResult>, 'extra'> & { alerts: EvaluationResult })
  /** The earlier run `runId` has already done the work of this scheduled time. */
  | { status: 'already_done'; workspaceId: string; runId: string };

/**
 * Syncs one workspace: claims the workspace for this run, reads the listing until a walk is verified, and applies that
 * walk in one transaction. If anything fails, the ledger is unchanged except for the run's row, which has the reason,
 * and the error is thrown.
 */
export async function syncWorkspace(deps: SyncDeps, request: SyncRequest): Promise<SyncOutcome> {
  const { writer, workspace, clock, logger } = deps;
  const claimed = await writer.claimRun({
    workspaceId: workspace.id,
    workspaceName: workspace.name,
    kind: request.kind,
    slot: request.slot,
    window: request.window,
    nowMs: clock.now(),
  });
  if (!('runKey' in claimed)) return { status: 'already_done', workspaceId: workspace.id, runId: claimed.doneBy };

  const log = logger.child({ runId: claimed.runId, workspaceId: workspace.id });
  const lease = keepRunLease(deps, claimed);
  const deadline = startRunDeadline(workspace.runMinutes * 60_000, { clock });
  const room = deps.staging.lease();
  const signal = AbortSignal.any([request.signal, lease.signal, deadline.signal]);
  let last: WalkRecord | null = null;
  try {
    const verified = await walkUntilVerified(deps, claimed, {
      window: request.window,
      signal,
      deadline,
      room,
      onProgress: request.onProgress,
      onWalk: (walk) => {
        last = walk;
        log.debug({ walk: walk.walkNumber, verdict: walk.verdict, signs: walk.signs }, 'walk ended');
      },
    });
    if (!verified.walk.facts.unchanged) await refuseSuspiciousListing(deps, claimed, verified.walk);
    const { checkpointFault, ...applied } = await applyVerified(deps, claimed, verified.walk, signal);
    if (checkpointFault !== null) log.warn({ reason: checkpointFault }, 'the checkpoint could not be written');
    const { pages, records } = verified.walk.facts;
    return {
      status: 'applied',
      workspaceId: workspace.id,
      window: request.window,
      walks: verified.walks,
      pages,
      records,
      ...applied,
    };
  } catch (error) {
    // After an abort, the reason of the abort is reported. The error of the interrupted work is only a consequence of
    // it.
    const ended = signal.aborted ? signal.reason : error;
    const cause = addWaitToMessage(ended, clock.now(), request.nextSlot);
    const failure = toFailure(cause, last);
    const fault = request.signal.aborted ? null : toFault(cause);
    try {
      await writer.failRun({ runKey: claimed.runKey, failure, fault, nowMs: clock.now() });
    } catch (second) {
      // The run's row keeps the status `running` until the next run supersedes it. `cause` is thrown, because it
      // matters more than this error.
      log.error({ reason: summarizeError(second).message }, 'the failed run could not be recorded');
    }
    throw cause;
  } finally {
    deadline.stop();
    room.release();
    lease.stop();
  }
}

/** Asks the service to confirm that missing records were withdrawn, then applies the run in one transaction. */
async function applyVerified(deps: SyncDeps, claimed: ClaimedRun, walk: WalkRecord, signal: AbortSignal) {
  const { workspace, clock } = deps;
  const { withdrawals, unconfirmed } = await confirmWithdrawals(deps, claimed, signal);
  signal.throwIfAborted();
  const { alerts: rules, lookbackPeriods, settleHours } = workspace;
  const { extra: alerts, ...result } = await deps.writer.applyRun({
    runKey: claimed.runKey,
    walk,
    withdrawals,
    unconfirmed,
    nowMs: clock.now(),
    alerts: { rules, lookbackPeriods, settleHours },
  });
  return { ...result, alerts };
}

/** Converts an error into the failure that the run's row records. */
function toFailure(error: unknown, walk: WalkRecord | null): RunFailure {
  const { code, message } = summarizeError(error);
  const isUnverified = code === 'unstable' || code === 'suspicious_empty' || code === 'suspicious_shrink';
  const status = isUnverified ? code : 'failed';
  return { status, code, message, pages: walk?.facts.pages ?? 0, records: walk?.facts.records ?? 0 };
}

/** Converts an error into the fault shown to operators. */
function toFault(error: unknown): RunFault {
  const { code, message, retryable } = summarizeError(error);
  const clockSkewMs = error instanceof UnauthorizedError ? error.clockSkewMs : null;
  return { code, message, retryable, clockSkewMs };
}
