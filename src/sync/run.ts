import type { RunFault } from '../alerts/rules/own/sync-failed.ts';
import type { RunAlerts } from '../alerts/track/alert-change.ts';
import { every } from '../core/clock.ts';
import { AppError, summarizeError } from '../core/errors.ts';
import { collectGarbage } from '../core/process/memory.ts';
import type { ApplyResult } from '../ledger/journal/runs/apply-run.ts';
import { type ClaimedRun, LEASE_MS, type RunKind } from '../ledger/journal/runs/claim-run.ts';
import type { RunFailure, WalkRecord } from '../ledger/journal/runs/fail-run.ts';
import type { Window } from '../ledger/journal/staging/staging.ts';
import { FencedError } from '../ledger/store/file/sqlite-errors.ts';
import { UnauthorizedError } from '../usage-api/errors.ts';
import type { Writer } from '../writer/writer.ts';
import { judgeWalk, MAX_WALKS, type Sign } from './prove.ts';
import { type NextSlot, nameWait, type RunDeadline, startRunDeadline } from './run-deadline.ts';
import type { StagingLease } from './staging-room.ts';
import { periodsOf, type SyncDeps } from './sync-deps.ts';
import { walkPages } from './walk.ts';
import { confirmWithdrawals } from './withdrawals.ts';

/** Pages whose requests leave tens of MB behind. */
const MANY_PAGES = 10_000;

export interface SyncRequest {
  kind: RunKind;
  slot: string | null;
  /** When the schedule asks again at the latest, seen from a moment; absent for a run by hand. */
  nextSlot?: NextSlot;
  window: Window;
  signal: AbortSignal;
  onProgress?: (progress: SyncProgress) => void;
}

export interface SyncProgress {
  walk: number;
  pages: number;
  totalPages: number;
}

export type SyncOutcome =
  | ({ status: 'applied'; workspaceId: string; window: Window; walks: number; pages: number; records: number } & Omit<
      ApplyResult<RunAlerts>,
      'extra'
    > & { alerts: RunAlerts })
  /** The slot had been done by another run. */
  | { status: 'already_done'; workspaceId: string; runId: string };

/** The run could not be proven complete; nothing was applied. */
export class UnprovenError extends AppError {}

interface ProvenWalk {
  walk: WalkRecord;
  walks: number;
}

/**
 * One sync of one workspace: claim, walk until the listing is proven complete, apply in one transaction. Whatever goes
 * wrong, nothing half-done is ever visible, the run's row says why, and the error is thrown to the caller.
 */
export async function syncWorkspace(deps: SyncDeps, request: SyncRequest): Promise<SyncOutcome> {
  const { writer, workspace, clock, logger } = deps;
  const claimed = await writer.call('claimRun', {
    workspaceId: workspace.id,
    workspaceName: workspace.name,
    kind: request.kind,
    slot: request.slot,
    window: request.window,
    nowMs: clock.now(),
  });
  if (!('runKey' in claimed)) return { status: 'already_done', workspaceId: workspace.id, runId: claimed.doneBy };

  const log = logger.child({ runId: claimed.runId, workspaceId: workspace.id });
  const lease = keepLease(deps, claimed);
  const deadline = startRunDeadline(workspace.runMinutes * 60_000, { clock });
  const room = deps.staging.lease();
  const signal = AbortSignal.any([request.signal, lease.signal, deadline.signal]);
  let last: WalkRecord | null = null;
  try {
    const proven = await walkUntilProven(deps, request, claimed, { signal, deadline, room }, (walk) => {
      last = walk;
      log.debug({ walk: walk.walkNumber, verdict: walk.verdict, signs: walk.signs }, 'walk ended');
    });
    await refuseSuspiciousEmpty(writer, claimed, proven.walk);
    const { checkpointFault, ...applied } = await applyProven(deps, claimed, proven.walk, signal);
    if (checkpointFault !== null) log.warn({ reason: checkpointFault }, 'no checkpoint of the head could be written');
    const { pages, records } = proven.walk.facts;
    const { id: workspaceId } = workspace;
    return { status: 'applied', workspaceId, window: request.window, walks: proven.walks, pages, records, ...applied };
  } catch (error) {
    // Whatever an abort made of the work under way, its reason is what ended the run.
    const ended = signal.aborted ? signal.reason : error;
    const cause = nameWait(ended, clock.now(), request.nextSlot);
    const failure = toFailure(cause, last);
    const fault = request.signal.aborted || failure.code === 'fenced' ? null : toFault(cause);
    const end = { runKey: claimed.runKey, failure, fault, nowMs: clock.now() };
    try {
      await writer.call('failRun', end);
    } catch (second) {
      // The run stays `running` and is superseded by the next; what ended it matters more than this.
      log.error({ reason: summarizeError(second).message }, 'the failed run could not be written down');
    }
    throw cause;
  } finally {
    deadline.stop();
    room.release();
    lease.stop();
  }
}

/** The transaction that everything comes to, once what is absent has been asked for. */
async function applyProven(deps: SyncDeps, claimed: ClaimedRun, walk: WalkRecord, signal: AbortSignal) {
  const { workspace, clock } = deps;
  const asked = await confirmWithdrawals(deps, claimed, signal);
  signal.throwIfAborted();
  const { alerts: rules, lookbackPeriods, settleHours } = workspace;
  const { extra: alerts, ...result } = await deps.writer.call('applyRun', {
    runKey: claimed.runKey,
    walk,
    ...asked,
    nowMs: clock.now(),
    alerts: { rules, lookbackPeriods, settleHours },
  });
  return { ...result, alerts };
}

async function walkUntilProven(
  deps: SyncDeps,
  request: SyncRequest,
  claimed: ClaimedRun,
  { signal, deadline, room }: { signal: AbortSignal; deadline: RunDeadline; room: StagingLease },
  onWalk: (walk: WalkRecord) => void,
): Promise<ProvenWalk> {
  const { writer, workspace, clock } = deps;
  const { runKey } = claimed;
  const { perPage } = workspace;
  const { fromPeriod, toPeriod } = periodsOf(request.window);
  let previousWasClean = false;
  let signs: Sign[] = [];
  for (let walkNumber = 1; walkNumber <= MAX_WALKS; walkNumber += 1) {
    const startedAtMs = clock.now();
    await writer.call('beginWalk', { runKey });
    await walkPages(
      {
        fetchPage: (page, pageSignal) =>
          deps.source.fetchUsagePage(
            { fromPeriod, toPeriod, page, perPage },
            { signal: pageSignal, beforeRetry: deps.pace },
          ),
        stagePage: (page, pieces) => {
          const body = joined(pieces);
          return writer.call('stagePage', { runKey, page, body }, [body]);
        },
      },
      {
        concurrency: workspace.concurrency,
        pace: deps.pace,
        limits: workspace,
        room: (...listing) => {
          const waiting = room.take(...listing);
          return waiting && deadline.hold(waiting);
        },
        signal,
        onPage: (pages, totalPages) => {
          deadline.progress();
          request.onProgress?.({ walk: walkNumber, pages, totalPages });
        },
      },
    );
    const facts = await writer.call('finishWalk', { runKey });
    if (facts.pages >= MANY_PAGES) collectGarbage();
    const judgement = judgeWalk(facts, workspace.consistency, previousWasClean);
    signs = judgement.signs;
    const walk: WalkRecord = { walkNumber, startedAtMs, finishedAtMs: clock.now(), facts, ...judgement };
    onWalk(walk);
    if (judgement.verdict === 'accepted') return { walk, walks: walkNumber };
    await writer.call('recordWalk', { runKey, walk });
    previousWasClean = judgement.verdict === 'unconfirmed';
  }
  const why = signs.length > 0 ? `the last one showed ${signs.join(', ')}` : 'no two in a row had the same keys';
  throw new UnprovenError('unstable', `the listing moved under ${MAX_WALKS} walks: ${why}`, {
    retryable: true,
    hint: 'nothing was applied; the next run tries again. If it persists, set `consistency: counted` or a quieter cron',
  });
}

/** The pieces in memory of their own, which can be given away. */
function joined(pieces: readonly Uint8Array[]): ArrayBuffer {
  const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const whole = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole.buffer;
}

/** Nothing where the ledger has something is more likely a fault of the service than the truth. */
async function refuseSuspiciousEmpty(writer: Writer, claimed: ClaimedRun, walk: WalkRecord): Promise<void> {
  if (walk.facts.records > 0) return;
  const known = await writer.call('countKnownRecords', { runKey: claimed.runKey });
  if (known === 0) return;
  throw new UnprovenError('suspicious_empty', `the service gave no records where the ledger has ${known}`, {
    hint: 'nothing was applied; check with the service whether the workspace really lost its usage',
  });
}

/** Renews the lease while the run lasts; its signal aborts when another run has taken the workspace. */
function keepLease(deps: SyncDeps, claimed: ClaimedRun): { signal: AbortSignal; stop: () => void } {
  const lost = new AbortController();
  const stop = every(deps.clock, LEASE_MS / 3, () => {
    deps.writer.call('renewLease', { runKey: claimed.runKey, nowMs: deps.clock.now() }).then(
      (held) => {
        if (!held)
          lost.abort(new FencedError(`another run has taken workspace ${JSON.stringify(claimed.workspaceId)}`));
      },
      (error: unknown) => deps.logger.warn({ err: error, runId: claimed.runId }, 'the lease could not be renewed'),
    );
  });
  return { signal: lost.signal, stop };
}

/** What an operator has to know of; a stop that was asked for and a run that another one has overtaken are not. */
function toFault(error: unknown): RunFault {
  const { code, message, retryable } = summarizeError(error);
  const clockSkewMs = error instanceof UnauthorizedError ? error.clockSkewMs : null;
  return { code, message, retryable, clockSkewMs };
}

function toFailure(error: unknown, walk: WalkRecord | null): RunFailure {
  const { code, message } = summarizeError(error);
  const status = code === 'unstable' || code === 'suspicious_empty' ? code : 'failed';
  return { status, code, message, pages: walk?.facts.pages ?? 0, records: walk?.facts.records ?? 0 };
}
