import { collectGarbage } from '../core/process/memory.ts';
import type { ClaimedRun } from '../ledger/journal/runs/claim-run.ts';
import type { WalkRecord } from '../ledger/journal/runs/fail-run.ts';
import type { RunWindow, WalkFacts } from '../ledger/journal/staging/staging.ts';
import { describeFlaws } from './describe-flaws.ts';
import { judgeWalk } from './judge-walk.ts';
import type { RunDeadline } from './run-deadline.ts';
import type { StagingLease } from './staging-room.ts';
import { type SyncDeps, windowParameters } from './sync-deps.ts';
import { UnverifiedError } from './unverified-error.ts';
import { walkPages } from './walk.ts';

/** A run reads the listing at most this many times. If no walk is verified, the run applies nothing. */
const MAX_WALKS = 3;

/**
 * Garbage is collected after a walk of at least this many pages, because its requests leave tens of megabytes of
 * garbage.
 */
const MIN_PAGES_FOR_COLLECTION = 10_000;

export interface SyncProgress {
  /** Number of the current walk, from 1. */
  walk: number;
  pages: number;
  totalPages: number;
}

interface WalksOptions {
  window: RunWindow;
  signal: AbortSignal;
  deadline: RunDeadline;
  room: StagingLease;
  onProgress: ((progress: SyncProgress) => void) | undefined;
  /** Called after each walk. */
  onWalk: (walk: WalkRecord) => void;
}

interface VerifiedWalk {
  walk: WalkRecord;
  /** Number of walks, this one included. */
  walks: number;
}

/**
 * Reads the whole listing again and again until `judgeWalk` accepts one of these walks, at most `MAX_WALKS` times. If
 * none was accepted, throws UnverifiedError `unstable` with the flaws of the last walk.
 */
export async function walkUntilVerified(
  deps: SyncDeps,
  { runKey }: ClaimedRun,
  options: WalksOptions,
): Promise<VerifiedWalk> {
  const { writer, workspace, clock } = deps;
  let previousWasClean = false;
  let last: WalkFacts | null = null;
  for (let walkNumber = 1; walkNumber <= MAX_WALKS; walkNumber += 1) {
    const startedAtMs = clock.now();
    await writer.beginWalk({ runKey });
    await walkOnce(deps, runKey, walkNumber, options);
    const facts = await writer.finishWalk({ runKey });
    if (facts.pages >= MIN_PAGES_FOR_COLLECTION) collectGarbage();
    const { verdict, signs } = judgeWalk(facts, workspace.consistency, previousWasClean);
    last = facts;
    const walk: WalkRecord = { walkNumber, startedAtMs, finishedAtMs: clock.now(), facts, verdict, signs };
    options.onWalk(walk);
    if (verdict === 'accepted') return { walk, walks: walkNumber };
    await writer.recordWalk({ runKey, walk });
    previousWasClean = verdict === 'unconfirmed';
  }
  const flaws = await writer.walkFlaws({ runKey });
  const why = last === null ? '' : describeFlaws(last, flaws);
  throw new UnverifiedError('unstable', `Could not read a consistent listing in ${MAX_WALKS} attempts: ${why}.`, {
    retryable: true,
    hint: UNSTABLE_HINT,
  });
}

const UNSTABLE_HINT =
  'Nothing was applied; the next run tries again. If it persists, report it to the service operator. If the listing ' +
  'changes while it is read, set `consistency: counted`, or choose a `cron` at a quieter hour';

/** Reads every page of the listing and stages it in the writer. */
async function walkOnce(
  deps: SyncDeps,
  runKey: number,
  walkNumber: number,
  { window, signal, deadline, room, onProgress }: WalksOptions,
): Promise<void> {
  const { writer, source, pace, workspace } = deps;
  const { fromPeriod, toPeriod } = windowParameters(window);
  const { perPage } = workspace;
  await walkPages(
    {
      fetchPage: (page, pageSignal) =>
        source.fetchUsagePage({ fromPeriod, toPeriod, page, perPage }, { signal: pageSignal, beforeRetry: pace }),
      stagePage: (page, { body: pieces, status, contentType }) => {
        const body = concatPieces(pieces);
        return writer.stagePage({ runKey, page, body, status, contentType }, [body]);
      },
    },
    {
      concurrency: workspace.concurrency,
      pace,
      limits: workspace,
      room: (...listing) => {
        const waiting = room.take(...listing);
        return waiting && deadline.hold(waiting);
      },
      signal,
      onPage: (pages, totalPages) => {
        deadline.progress();
        onProgress?.({ walk: walkNumber, pages, totalPages });
      },
    },
  );
}

/** Joins the pieces in a new buffer, which can be transferred to another thread. */
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
