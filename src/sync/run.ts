import type { RunFault } from '../alerts/rules/sync-failed/detect.ts';
import type { RunAlerts } from '../alerts/state/alert-change.ts';
import type { Consistency } from '../config/types.ts';
import { every } from '../core/clock.ts';
import { AppError, summarizeError } from '../core/errors.ts';
import { collectGarbage } from '../core/process/memory.ts';
import { counted } from '../core/text/words.ts';
import type { AbsentKey } from '../ledger/journal/runs/absences.ts';
import type { ApplyResult } from '../ledger/journal/runs/apply-run.ts';
import { type ClaimedRun, LEASE_MS, type RunKind } from '../ledger/journal/runs/claim-run.ts';
import type { RunFailure, WalkRecord, WalkVerdict } from '../ledger/journal/runs/fail-run.ts';
import type { WalkFacts, Window } from '../ledger/journal/staging/staging.ts';
import { FencedError } from '../ledger/store/file/sqlite-errors.ts';
import { UnauthorizedError } from '../usage-api/errors.ts';
import { describeFlaws } from './describe-flaws.ts';
import { type NextSlot, nameWait, type RunDeadline, startRunDeadline } from './run-deadline.ts';
import type { StagingLease } from './staging-room.ts';
import { periodsOf, type SyncDeps } from './sync-deps.ts';
import { implausible, requirePlausible, walkPages } from './walk.ts';

/** Shrink detection is off below this many records: small listings vary too much. */
const MIN_RECORDS_FOR_SHRINK_CHECK = 10;

/** From this many pages, requests leave tens of MB of garbage. */
const MIN_PAGES_FOR_COLLECTION = 10_000;

export interface SyncRequest {
  kind: RunKind;
  slot: string | null;
  /** Returns the latest time of the next slot; absent for a manual run. */
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
  /** Another run had already done the slot. */
  | { status: 'already_done'; workspaceId: string; runId: string };

/** The listing could not be verified as complete; nothing was applied. */
export class UnverifiedError extends AppError {}

interface VerifiedWalk {
  walk: WalkRecord;
  walks: number;
}

/**
 * Syncs one workspace: claims it, walks the listing until it is verified, and applies it in one transaction. After any
 * failure the ledger shows no partial state, the run's row has the reason, and the error is thrown.
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
  const lease = keepLease(deps, claimed);
  const deadline = startRunDeadline(workspace.runMinutes * 60_000, { clock });
  const room = deps.staging.lease();
  const signal = AbortSignal.any([request.signal, lease.signal, deadline.signal]);
  let last: WalkRecord | null = null;
  try {
    const verified = await walkUntilVerified(deps, request, claimed, { signal, deadline, room }, (walk) => {
      last = walk;
      log.debug({ walk: walk.walkNumber, verdict: walk.verdict, signs: walk.signs }, 'walk ended');
    });
    if (!verified.walk.facts.unchanged) await refuseSuspicious(deps, claimed, verified.walk);
    const { checkpointFault, ...applied } = await applyVerified(deps, claimed, verified.walk, signal);
    if (checkpointFault !== null) log.warn({ reason: checkpointFault }, 'the checkpoint could not be written');
    const { pages, records } = verified.walk.facts;
    const { id: workspaceId } = workspace;
    return {
      status: 'applied',
      workspaceId,
      window: request.window,
      walks: verified.walks,
      pages,
      records,
      ...applied,
    };
  } catch (error) {
    // After an abort its reason is the error, whatever the interrupted work threw.
    const ended = signal.aborted ? signal.reason : error;
    const cause = nameWait(ended, clock.now(), request.nextSlot);
    const failure = toFailure(cause, last);
    const fault = request.signal.aborted ? null : toFault(cause);
    const end = { runKey: claimed.runKey, failure, fault, nowMs: clock.now() };
    try {
      await writer.failRun(end);
    } catch (second) {
      // The run stays `running` until the next one supersedes it: the first error matters more than this one.
      log.error({ reason: summarizeError(second).message }, 'the failed run could not be recorded');
    }
    throw cause;
  } finally {
    deadline.stop();
    room.release();
    lease.stop();
  }
}

/** Confirms withdrawals with the service, then applies the run in one transaction. */
async function applyVerified(deps: SyncDeps, claimed: ClaimedRun, walk: WalkRecord, signal: AbortSignal) {
  const { workspace, clock } = deps;
  const asked = await confirmWithdrawals(deps, claimed, signal);
  signal.throwIfAborted();
  const { alerts: rules, lookbackPeriods, settleHours } = workspace;
  const { extra: alerts, ...result } = await deps.writer.applyRun({
    runKey: claimed.runKey,
    walk,
    ...asked,
    nowMs: clock.now(),
    alerts: { rules, lookbackPeriods, settleHours },
  });
  return { ...result, alerts };
}

async function walkUntilVerified(
  deps: SyncDeps,
  request: SyncRequest,
  claimed: ClaimedRun,
  { signal, deadline, room }: { signal: AbortSignal; deadline: RunDeadline; room: StagingLease },
  onWalk: (walk: WalkRecord) => void,
): Promise<VerifiedWalk> {
  const { writer, workspace, clock } = deps;
  const { runKey } = claimed;
  const { perPage } = workspace;
  const { fromPeriod, toPeriod } = periodsOf(request.window);
  let previousWasClean = false;
  let last: WalkFacts | null = null;
  for (let walkNumber = 1; walkNumber <= MAX_WALKS; walkNumber += 1) {
    const startedAtMs = clock.now();
    await writer.beginWalk({ runKey });
    await walkPages(
      {
        fetchPage: (page, pageSignal) =>
          deps.source.fetchUsagePage(
            { fromPeriod, toPeriod, page, perPage },
            { signal: pageSignal, beforeRetry: deps.pace },
          ),
        stagePage: (page, { body: pieces, status, contentType }) => {
          const body = concatPieces(pieces);
          return writer.stagePage({ runKey, page, body, status, contentType }, [body]);
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
    const facts = await writer.finishWalk({ runKey });
    if (facts.pages >= MIN_PAGES_FOR_COLLECTION) collectGarbage();
    const judgement = judgeWalk(facts, workspace.consistency, previousWasClean);
    last = facts;
    const walk: WalkRecord = { walkNumber, startedAtMs, finishedAtMs: clock.now(), facts, ...judgement };
    onWalk(walk);
    if (judgement.verdict === 'accepted') return { walk, walks: walkNumber };
    await writer.recordWalk({ runKey, walk });
    previousWasClean = judgement.verdict === 'unconfirmed';
  }
  const flaws = await writer.walkFlaws({ runKey });
  const why = last === null ? '' : describeFlaws(last, flaws);
  throw new UnverifiedError('unstable', `Could not read a consistent listing in ${MAX_WALKS} attempts: ${why}.`, {
    retryable: true,
    hint: UNSTABLE_HINT,
  });
}

const UNSTABLE_HINT =
  'Nothing was applied; the next run tries again. If it persists, report it to the service operator; for a listing that changes while it ' +
  'is read set `consistency: counted`, or a `cron` for a quieter hour';

/** Copies the pieces into a buffer of their own, which can be transferred. */
function concatPieces(pieces: readonly Uint8Array[]): ArrayBuffer {
  const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const whole = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole.buffer;
}

/**
 * Throws for an empty listing, and for one that lacks a large share of the ledger's records: a fault of the service is
 * more likely than a real loss.
 */
async function refuseSuspicious(
  { writer, workspace }: Pick<SyncDeps, 'writer' | 'workspace'>,
  { runKey }: ClaimedRun,
  { facts: { records, keySetDigest } }: WalkRecord,
): Promise<void> {
  const compared = await writer.countMissing({ runKey, keySetDigest });
  if (compared === null || compared.known === 0) return;
  const { known, missing } = compared;
  const ask = 'nothing was applied; check with the service operator whether the workspace really lost its usage';
  if (records === 0) {
    const message = `the service returned no records; the ledger has ${counted(known, 'record')}`;
    throw new UnverifiedError('suspicious_empty', message, {
      hint: ask,
    });
  }
  const share = workspace.suspiciousShrink;
  if (share === 1 || known < MIN_RECORDS_FOR_SHRINK_CHECK || missing < known * share) return;
  throw new UnverifiedError('suspicious_shrink', `the service no longer lists ${missing} of ${known} records`, {
    hint: `${ask}; if it did, let one run pass with \`suspicious_shrink: 1\``,
  });
}

/** Renews the lease during the run; the signal aborts when another run takes the workspace. */
function keepLease(deps: SyncDeps, claimed: ClaimedRun): { signal: AbortSignal; stop: () => void } {
  const lost = new AbortController();
  const stop = every(deps.clock, LEASE_MS / 3, () => {
    deps.writer.renewLease({ runKey: claimed.runKey, nowMs: deps.clock.now() }).then(
      (held) => {
        if (!held)
          lost.abort(new FencedError(`another run has taken workspace ${JSON.stringify(claimed.workspaceId)}`));
      },
      (error: unknown) => deps.logger.warn({ err: error, runId: claimed.runId }, 'the lease could not be renewed'),
    );
  });
  return { signal: lost.signal, stop };
}

/** Converts an error into the fault shown to operators. */
function toFault(error: unknown): RunFault {
  const { code, message, retryable } = summarizeError(error);
  const clockSkewMs = error instanceof UnauthorizedError ? error.clockSkewMs : null;
  return { code, message, retryable, clockSkewMs };
}

function toFailure(error: unknown, walk: WalkRecord | null): RunFailure {
  const { code, message } = summarizeError(error);
  const isUnverified = code === 'unstable' || code === 'suspicious_empty' || code === 'suspicious_shrink';
  const status = isUnverified ? code : 'failed';
  return { status, code, message, pages: walk?.facts.pages ?? 0, records: walk?.facts.records ?? 0 };
}

/** With `auto`, listings up to this many pages are read until two consecutive walks agree. */
const AUTO_TWICE_PAGES = 50;
/** Walks per run; after the last one nothing is applied. */
const MAX_WALKS = 3;

/** A sign that the listing changed during the walk, or is incomplete. */
export type Sign =
  | 'totals_moved'
  | 'pages_missing'
  | 'records_missing'
  | 'records_repeated'
  | 'short_page'
  | 'page_repeated'
  | 'outside_window';

interface WalkJudgement {
  verdict: WalkVerdict;
  signs: Sign[];
}

/**
 * Decides whether one walk is accepted. Complete means: every page read, the same totals on every page, as many
 * distinct keys as the announced records, nothing repeated and everything inside the window. The count catches rows
 * that only move (a missed row means a repeated one), but not a deletion combined with an addition, so `twice` also
 * requires that the previous walk was complete and had the same keys. A listing with the same bytes on every page as
 * the last verified one has thereby been read twice.
 */
export function judgeWalk(facts: WalkFacts, consistency: Consistency, previousWasClean: boolean): WalkJudgement {
  const signs = signsOfMovement(facts);
  if (signs.length > 0) return { verdict: 'moved', signs };
  const twice = consistency === 'twice' || (consistency === 'auto' && facts.totalPages <= AUTO_TWICE_PAGES);
  const confirmed = facts.unchanged || (previousWasClean && facts.sameKeysAsPrevious === true);
  return { verdict: twice && !confirmed ? 'unconfirmed' : 'accepted', signs };
}

export function signsOfMovement(facts: WalkFacts): Sign[] {
  const signs: Sign[] = [];
  // An empty listing has no pages, but its first one is always read.
  if (facts.pages !== Math.max(1, facts.totalPages)) signs.push('pages_missing');
  if (facts.totalsMoved) signs.push('totals_moved');
  if (facts.recordsOutsideWindow > 0) signs.push('outside_window');
  const repeated = facts.records - facts.recordsOutsideWindow - facts.distinctKeys;
  if (repeated > 0) signs.push('records_repeated');
  if (facts.distinctKeys !== facts.totalRecords) signs.push('records_missing');
  if (facts.shortPages > 0) signs.push('short_page');
  if (facts.repeatedPages > 0) signs.push('page_repeated');
  return signs;
}

/** Histories that one run reads; the remaining tenants wait for the next run. */
const MAX_HISTORIES = 200;
const HISTORY_PER_PAGE = 100;

interface AskedHistories {
  /** Keys missing from two walks of different runs and from the tenant's own history. */
  withdrawals: AbsentKey[];
  /** Keys still absent after the look at their history: other keys come first next time. */
  unconfirmed: AbsentKey[];
}

/**
 * Reads the histories of tenants with keys that two walks missed, longest waiting first. Runs before the transaction
 * that applies. A history that cannot be read withdraws nothing.
 */
async function confirmWithdrawals(deps: SyncDeps, run: ClaimedRun, signal: AbortSignal): Promise<AskedHistories> {
  const absent = await deps.writer.absentAgain({ runKey: run.runKey });
  const byTenant = new Map<string, AbsentKey[]>();
  for (const key of absent) byTenant.set(key.tenantId, [...(byTenant.get(key.tenantId) ?? []), key]);
  const asked: AskedHistories = { withdrawals: [], unconfirmed: [] };
  for (const [tenantId, keys] of [...byTenant].slice(0, MAX_HISTORIES)) {
    try {
      const periods = await readHistory(deps, run, tenantId, signal);
      for (const key of keys) asked[periods.has(key.period) ? 'unconfirmed' : 'withdrawals'].push(key);
    } catch (error) {
      signal.throwIfAborted();
      asked.unconfirmed.push(...keys);
      const { code, message } = summarizeError(error);
      deps.logger.warn(
        { runId: run.runId, code, reason: message },
        'a history could not be read: none of its records is withdrawn',
      );
    }
  }
  return asked;
}

/** Returns the periods in a tenant's own history; empty when the service no longer knows the tenant. */
async function readHistory(
  { source, pace, workspace }: SyncDeps,
  { window }: ClaimedRun,
  tenantId: string,
  signal: AbortSignal,
): Promise<Set<string>> {
  const periods = new Set<string>();
  const limits = periodsOf(window);
  let totalPages = 1;
  for (let page = 1; page <= totalPages; page += 1) {
    await pace(signal);
    try {
      const query = { ...limits, page, perPage: HISTORY_PER_PAGE };
      const answer = await source.getTenantUsage(tenantId, query, { signal, beforeRetry: pace });
      const known = periods.size;
      for (const { period } of answer.usage) periods.add(period);
      if (page > 1 && periods.size === known) throw implausible(`page ${page} of a history has no new month`);
      totalPages = answer.total_pages;
      if (page === 1) {
        const { usage, total_pages, total_records } = answer;
        requirePlausible({ records: usage.length, totalPages: total_pages, totalRecords: total_records }, workspace);
      }
    } catch (error) {
      // Only for the first page: a missing later page means that the history changed.
      if (page === 1 && summarizeError(error).code === 'not_found') return periods;
      throw error;
    }
  }
  return periods;
}
