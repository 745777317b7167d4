import type Database from 'better-sqlite3';
import {
  type AcknowledgeRequest,
  acknowledgeAlert,
  addSilence,
  endSilence,
  type SilenceRequest,
} from '../alerts/book/actions.ts';
import type { RunAlerts } from '../alerts/book/alert-change.ts';
import { type FeedbackRequest, recordFeedback } from '../alerts/book/feedback.ts';
import { evaluateRun, type RunAlertSettings } from '../alerts/evaluate/evaluate-run.ts';
import {
  evaluateFailure,
  evaluateLedger,
  evaluateStale,
  type LedgerNews,
  type RunFault,
  type StaleCheck,
} from '../alerts/evaluate/evaluate-self.ts';
import { composeDigests } from '../alerts/notify/digests/compose-digests.ts';
import { composeReviews } from '../alerts/notify/digests/compose-reviews.ts';
import type { ReviewMoment } from '../alerts/notify/digests/review.ts';
import type { ChannelRoute } from '../alerts/notify/routes.ts';
import { claimDelivery, type DeliveryRecord, recordDelivery, releaseDelivery } from '../alerts/outbox/outbox.ts';
import { type PrunedOutbox, pruneOutbox } from '../alerts/outbox/prune-outbox.ts';
import { type ReplayReport, type ReplayRequest, replayDead } from '../alerts/outbox/replay.ts';
import { isoTime } from '../core/clock.ts';
import type { Redactor } from '../core/text/redact.ts';
import type { CheckpointLog } from '../ledger/audit/anchor/checkpoint-log.ts';
import { chargeRun } from '../ledger/journal/charges/charge-run.ts';
import { chargeReopened, commitClose } from '../ledger/journal/charges/commit-close.ts';
import { creditPricer } from '../ledger/journal/charges/credit-pricer.ts';
import { importNames, type NamesImport, type NamesReport } from '../ledger/journal/charges/names.ts';
import { type CardsChange, type CardsRequest, setCards } from '../ledger/journal/charges/set-cards.ts';
import {
  type CloseRequest,
  closePeriod,
  type PeriodEvent,
  type ReopenRequest,
  reopenPeriod,
} from '../ledger/journal/close/close-period.ts';
import { type AbsentKey, absentAgain } from '../ledger/journal/runs/absences.ts';
import { type ApplyResult, applyRun } from '../ledger/journal/runs/apply-run.ts';
import {
  type ClaimedRun,
  type ClaimRequest,
  claimRun,
  renewLease,
  type SlotDone,
} from '../ledger/journal/runs/claim-run.ts';
import { countKnownRecords, failRun, type RunFailure } from '../ledger/journal/runs/fail-run.ts';
import { type PrunedRuns, pruneRuns } from '../ledger/journal/runs/prune-runs.ts';
import { recordWalk, type WalkRecord } from '../ledger/journal/runs/walks.ts';
import { RunStaging, type WalkFacts } from '../ledger/journal/staging/staging.ts';
import { truncateLog } from '../ledger/store/file/truncate-log.ts';
import { changeReplicaEpoch, forgetQueueInUse } from '../ledger/store/schema/identity.ts';
import {
  keepWorkspace,
  type MoveRequest,
  type SealedWorkspace,
  sealWorkspace,
} from '../ledger/transfer/moving/seal-workspace.ts';
import { parseUsagePage } from '../usage-api/answers/check-page.ts';
import { toStagedPage } from './staged-page.ts';

/** What staging says of a page that has arrived there. */
export interface PageReceipt {
  /** Records on the page. */
  records: number;
  /** Of them, those whose key no page before on the walk had; records outside the window do not count. */
  newKeys: number;
  totalPages: number;
  totalRecords: number;
}

interface OpenRun {
  run: ClaimedRun;
  staging: RunStaging;
}

/** What one step has forgotten, and whether there is more of it. */
export type Pruned = PrunedRuns & PrunedOutbox;

/** What came of the checkpoint of a new head. */
interface Noted {
  /** Why it could not be written; null when it was. */
  checkpointFault: string | null;
}

/** A run under way is named by its key. */
interface OfRun {
  runKey: number;
}

interface FailedRunRequest {
  failure: RunFailure;
  fault: RunFault | null;
  /** The channels that there are, with what each of them is told of. */
  channels: readonly ChannelRoute[];
  nowMs: number;
}

/**
 * Everything that writes to the ledger, as plain synchronous calls over the one writing connection. They run in the
 * writer's thread, see writer-thread.ts; arguments and results cross threads, so they are plain data. The time comes
 * with each call, because the caller owns the clock.
 */
export class WriterOps {
  readonly #connection: Database.Database;
  readonly #redact: Redactor;
  readonly #checkpoints: CheckpointLog | null;
  readonly #runs = new Map<number, OpenRun>();

  /** `redact` takes secrets out of what a page says before it becomes an error. */
  constructor(
    connection: Database.Database,
    redact: Redactor = (text) => text,
    checkpoints: CheckpointLog | null = null,
  ) {
    this.#connection = connection;
    this.#redact = redact;
    this.#checkpoints = checkpoints;
  }

  claimRun(request: ClaimRequest): ClaimedRun | SlotDone {
    const run = claimRun(this.#connection, request);
    if ('runKey' in run) {
      const staging = new RunStaging(this.#connection, run.workspaceKey, run.window);
      this.#runs.set(run.runKey, { run, staging });
    }
    return run;
  }

  /** False when another run has taken the workspace. A run that has ended meanwhile has nothing left to lose. */
  renewLease({ runKey, nowMs }: OfRun & { nowMs: number }): boolean {
    if (!this.#runs.has(runKey)) return true;
    return renewLease(this.#connection, this.#open(runKey).run, nowMs);
  }

  beginWalk({ runKey }: OfRun): void {
    this.#open(runKey).staging.beginWalk();
  }

  stagePage({ runKey, page, body }: OfRun & { page: number; body: ArrayBuffer }): PageReceipt {
    const { run, staging } = this.#open(runKey);
    const bytes = new Uint8Array(body);
    const content = toStagedPage(parseUsagePage(bytes, { page, workspaceId: run.workspaceId, redact: this.#redact }));
    const newKeys = staging.stagePage(page, content, bytes);
    const { records, totalPages, totalRecords } = content;
    return { records: records.length, newKeys, totalPages, totalRecords };
  }

  finishWalk({ runKey }: OfRun): WalkFacts {
    return this.#open(runKey).staging.finishWalk();
  }

  /** Keeps the certificate of a walk that was not accepted. */
  recordWalk({ runKey, walk }: OfRun & { walk: WalkRecord }): void {
    recordWalk(this.#connection, runKey, walk);
  }

  countKnownRecords({ runKey }: OfRun): number {
    return countKnownRecords(this.#connection, this.#open(runKey).run);
  }

  /** Keys that are absent from this run's walk and were from an earlier run's. */
  absentAgain({ runKey }: OfRun): AbsentKey[] {
    const { run, staging } = this.#open(runKey);
    return absentAgain(this.#connection, run, staging.keys);
  }

  /** Publishes the run; its staging is gone afterwards. */
  applyRun(
    request: OfRun & { walk: WalkRecord; withdrawals: AbsentKey[]; nowMs: number; alerts: RunAlertSettings },
  ): ApplyResult<RunAlerts> & Noted {
    const { run, staging } = this.#open(request.runKey);
    const { facts, ...walk } = request.walk;
    const result = applyRun(this.#connection, {
      run,
      staging,
      facts,
      walk,
      withdrawals: request.withdrawals,
      nowMs: request.nowMs,
      afterMerge: (merged) => {
        chargeRun(merged);
        return evaluateRun(merged, request.alerts, { priceOf: creditPricer(merged.connection, run.workspaceId) });
      },
    });
    this.#close(request.runKey);
    return { ...result, checkpointFault: this.#note(result.appliedSeq, result.digest, request.nowMs) };
  }

  /** Ends a run that publishes nothing, and raises its alert unless nobody is at fault (`fault` null). */
  failRun({ runKey, failure, fault, channels, nowMs }: OfRun & FailedRunRequest): RunAlerts {
    const { run } = this.#open(runKey);
    try {
      return this.#connection
        .transaction(() => {
          failRun(this.#connection, run, failure, nowMs);
          if (fault === null) return { changes: [], notificationIds: [] };
          return evaluateFailure(this.#connection, run, fault, { channels, nowMs });
        })
        .immediate();
    } finally {
      // Also when the failure itself cannot be written: staging would stay in memory for good.
      this.#close(runKey);
    }
  }

  /** Raises alerts for workspaces without a complete run for too long. */
  raiseStale(request: { workspaces: StaleCheck[]; channels: readonly ChannelRoute[]; nowMs: number }): RunAlerts {
    return evaluateStale(this.#connection, request.workspaces, request);
  }

  /** Raises an alert about the ledger as a whole; `detail` null ends it. */
  tellOfLedger(request: LedgerNews & { channels: readonly ChannelRoute[]; nowMs: number }): RunAlerts {
    return evaluateLedger(this.#connection, request, request);
  }

  /** Cuts the write-ahead log; false while a reader still needs it. */
  truncateLog(_args: undefined): boolean {
    return truncateLog(this.#connection);
  }

  recordFeedback(request: FeedbackRequest): void {
    recordFeedback(this.#connection, request);
  }

  acknowledgeAlert(request: AcknowledgeRequest): void {
    acknowledgeAlert(this.#connection, request);
  }

  /** Returns the id of the silence. */
  addSilence(request: SilenceRequest): string {
    return addSilence(this.#connection, request);
  }

  endSilence(request: { silenceId: string; by: string; nowMs: number }): void {
    endSilence(this.#connection, request);
  }

  closePeriod(request: CloseRequest): PeriodEvent & Noted {
    const event = closePeriod(this.#connection, request, commitClose);
    return { ...event, checkpointFault: this.#note(event.eventSeq, event.digest, request.nowMs) };
  }

  reopenPeriod(request: ReopenRequest): PeriodEvent & Noted {
    const event = reopenPeriod(this.#connection, request, chargeReopened);
    return { ...event, checkpointFault: this.#note(event.eventSeq, event.digest, request.nowMs) };
  }

  /** Puts rate cards into force and prices the periods that are not closed by them. */
  setCards(request: CardsRequest): CardsChange {
    return setCards(this.#connection, request);
  }

  sealWorkspace(request: MoveRequest): SealedWorkspace {
    return sealWorkspace(this.#connection, request);
  }

  keepWorkspace(request: MoveRequest): void {
    keepWorkspace(this.#connection, request);
  }

  /** Says that this copy of the ledger is the one that the replica counts as `epoch`. */
  changeReplicaEpoch({ epoch }: { epoch: number }): void {
    changeReplicaEpoch(this.#connection, epoch);
  }

  forgetQueueInUse(_args: undefined): void {
    forgetQueueInUse(this.#connection);
  }

  importNames(request: NamesImport): NamesReport {
    return importNames(this.#connection, request);
  }

  claimDelivery(request: { notificationId: string; nowMs: number; claimMs: number }): boolean {
    return claimDelivery(this.#connection, request);
  }

  releaseDelivery(request: { notificationId: string }): void {
    releaseDelivery(this.#connection, request);
  }

  /** Returns the notifications about a channel that the attempt has disabled. */
  recordDelivery(record: DeliveryRecord): string[] {
    return recordDelivery(this.#connection, record);
  }

  /** Returns the digests that were made of what waited for them. */
  composeReviews(request: ReviewMoment & { channels: readonly ChannelRoute[] }): string[] {
    return composeReviews(this.#connection, request);
  }

  composeDigests({ nowMs }: { nowMs: number }): string[] {
    return composeDigests(this.#connection, nowMs);
  }

  /** Forgets some of what is older than `beforeMs` and need not be kept. */
  prune({ beforeMs }: { beforeMs: number }): Pruned {
    const before = isoTime(beforeMs);
    const runs = pruneRuns(this.#connection, before);
    const outbox = pruneOutbox(this.#connection, before);
    return { ...runs, ...outbox, more: runs.more || outbox.more };
  }

  replayDead(request: ReplayRequest): ReplayReport {
    return replayDead(this.#connection, request);
  }

  #open(runKey: number): OpenRun {
    const open = this.#runs.get(runKey);
    if (open === undefined) throw new Error(`run ${runKey} is not open in this process`);
    return open;
  }

  /** Leaves a signed checkpoint of a head that has been committed. */
  #note(seq: number, digest: string, nowMs: number): string | null {
    return this.#checkpoints?.note({ seq, digest, at: isoTime(nowMs) }) ?? null;
  }

  #close(runKey: number): void {
    this.#runs.delete(runKey);
    this.#connection.pragma('shrink_memory');
  }
}
