import { evaluateRun, type RunAlertSettings } from '../alerts/evaluate-run.ts';
import { evaluateFailure, evaluateJob } from '../alerts/evaluate-system.ts';
import type { RunFault } from '../alerts/rules/sync-failed/detect.ts';
import type { EvaluationResult } from '../alerts/state/alert-change.ts';
import { storeBudgets } from '../ledger/journal/charges/budget-store.ts';
import { chargeRun } from '../ledger/journal/charges/charge-run.ts';
import { creditPricer } from '../ledger/journal/charges/credit-pricer.ts';
import { type AbsentKey, absentAgain } from '../ledger/journal/runs/absences.ts';
import { type ApplyResult, applyRun } from '../ledger/journal/runs/apply-run.ts';
import {
  type ClaimedRun,
  type ClaimRequest,
  claimRun,
  renewLease,
  type SlotDone,
} from '../ledger/journal/runs/claim-run.ts';
import {
  countMissing,
  failRun,
  type RunFailure,
  recordWalk,
  type WalkRecord,
} from '../ledger/journal/runs/fail-run.ts';
import { findKnownListing } from '../ledger/journal/runs/known-listing.ts';
import { digestOfPage } from '../ledger/journal/staging/page-log.ts';
import type { StagedPage, StagedRecord } from '../ledger/journal/staging/staged-record.ts';
import { RunStaging, type WalkFacts } from '../ledger/journal/staging/staging.ts';
import type { WalkFlaws } from '../ledger/journal/staging/walk-flaws.ts';
import { PageScanner } from '../speed/scan-page.ts';
import { isBillingMonth } from '../usage-api/answers/billing-month.ts';
import type { UsageItem } from '../usage-api/answers/check-item.ts';
import { MAX_TENANT_ID_BYTES } from '../usage-api/answers/check-item.ts';
import { parseUsagePage, type UsagePage } from '../usage-api/answers/check-page.ts';
import type { PageWhere } from '../usage-api/answers/page-faults.ts';
import { type OpenRun, recordHead, type Session, type WithCheckpoint } from './session.ts';

/** Identifies an open run by its key. */
interface RunRef {
  runKey: number;
}

/** The number of a page, and the status and content type of the response that contained it. */
interface PageToStage extends RunRef, Pick<PageWhere, 'status' | 'contentType'> {
  page: number;
}

/** What staging found on one page of the listing. */
export interface PageReceipt {
  records: number;
  /** Number of keys that no earlier page of this walk had. Records of periods that were not requested do not count. */
  newKeys: number;
  totalPages: number;
  totalRecords: number;
  /** The page has the same bytes as in the last verified walk and was skipped. Its counts are 0, except on page 1. */
  unchanged: boolean;
}

interface ApplyRunOrder extends RunRef {
  walk: WalkRecord;
  withdrawals: AbsentKey[];
  unconfirmed: AbsentKey[];
  nowMs: number;
  alerts: RunAlertSettings;
}

interface FailedRun extends RunRef {
  failure: RunFailure;
  fault: RunFault | null;
  nowMs: number;
}

const PAGES_BEFORE_SCANNING = 200;
const scanner = new PageScanner<PageWhere>(
  { parse: parseUsagePage, isBillingMonth, maxTenantIdBytes: MAX_TENANT_ID_BYTES },
  PAGES_BEFORE_SCANNING,
);

/** The commands of the writer that a sync needs, in the order of a run. */
export const runCommands = {
  /** Claims a workspace for a run; returns the earlier run if one has already done the slot. */
  claimRun({ connection, runs, claimant }: Session, request: ClaimRequest): ClaimedRun | SlotDone {
    const run = claimRun(connection, request, claimant);
    if ('runKey' in run) {
      const known = findKnownListing(connection, run, request.kind);
      runs.set(run.runKey, { run, staging: new RunStaging(connection, run.workspaceKey, run.window, known) });
    }
    return run;
  },

  /** Renews the lease of a run. Returns false if another run has taken the workspace; true if this run has ended. */
  renewLease({ connection, runs }: Session, { runKey, nowMs }: RunRef & { nowMs: number }): boolean {
    const open = runs.get(runKey);
    return open === undefined || renewLease(connection, open.run, nowMs);
  },

  beginWalk: (session: Session, { runKey }: RunRef): void => openRun(session, runKey).staging.beginWalk(),

  stagePage(session: Session, { body, ...page }: PageToStage & { body: ArrayBuffer }): PageReceipt {
    try {
      return stagePage(session, page, new Uint8Array(body));
    } finally {
      // Frees the body at once. This thread makes little garbage, so the collector would free the body much later.
      body.transfer(0);
    }
  },

  finishWalk: (session: Session, { runKey }: RunRef): WalkFacts => openRun(session, runKey).staging.finishWalk(),

  /** Returns the evidence that the listing changed during the last walk. */
  walkFlaws: (session: Session, { runKey }: RunRef): WalkFlaws => openRun(session, runKey).staging.flaws(),

  /** Stores the certificate of a walk that was not accepted. */
  recordWalk: ({ connection }: Session, { runKey, walk }: RunRef & { walk: WalkRecord }): void =>
    recordWalk(connection, runKey, walk),

  countMissing(
    session: Session,
    { runKey, keySetDigest }: RunRef & { keySetDigest: string },
  ): ReturnType<typeof countMissing> {
    const { run, staging } = openRun(session, runKey);
    return countMissing(session.connection, run, { keys: staging.keys, keySetDigest });
  },

  /** Lists the keys that are missing both in this run's walk and in that of an earlier run. */
  absentAgain(session: Session, { runKey }: RunRef): AbsentKey[] {
    const { run, staging } = openRun(session, runKey);
    return absentAgain(session.connection, run, staging.keys);
  },

  /** Applies the run and discards its staging. */
  applyRun(
    session: Session,
    { runKey, walk: { facts, ...walk }, withdrawals, unconfirmed, nowMs, alerts }: ApplyRunOrder,
  ): ApplyResult<EvaluationResult> & WithCheckpoint {
    const { run, staging } = openRun(session, runKey);
    const result = applyRun(session.connection, {
      run,
      staging,
      facts,
      walk,
      withdrawals,
      unconfirmed,
      nowMs,
      afterMerge: (merged) => {
        chargeRun(merged);
        storeBudgets(merged.connection, run.workspaceKey, alerts.rules.budgets ?? []);
        return evaluateRun(merged, alerts, {
          routes: session.routes,
          priceOf: creditPricer(merged.connection, run.workspaceId),
        });
      },
    });
    endRun(session, runKey);
    const recorded = recordHead(session, result.appliedSeq, result.digest, nowMs);
    const health = { job: 'checkpoint' as const, detail: recorded.checkpointFault };
    result.extra.due += evaluateJob(session.connection, health, { routes: session.routes, nowMs }).due;
    return { ...result, ...recorded };
  },

  /**
   * Ends a run that applies nothing, and raises an alert, except in two cases: the run was cancelled (`fault` is null),
   * or another run has taken the workspace.
   */
  failRun(session: Session, { runKey, failure, fault, nowMs }: FailedRun): EvaluationResult {
    const { connection, routes } = session;
    const { run } = openRun(session, runKey);
    const fail = connection.transaction((): EvaluationResult => {
      const isOwn = failRun(connection, run, failure, nowMs);
      if (fault === null || !isOwn) return { changes: [], due: 0 };
      return evaluateFailure(connection, run, fault, { routes, nowMs });
    });
    try {
      return fail.immediate();
    } finally {
      // Staging is discarded even if the failure cannot be recorded; otherwise it would stay in memory for good.
      endRun(session, runKey);
    }
  },
};

function openRun({ runs }: Session, runKey: number): OpenRun {
  const open = runs.get(runKey);
  if (open === undefined) throw new Error(`run ${runKey} is not open in this process`);
  return open;
}

function endRun({ connection, runs }: Session, runKey: number): void {
  runs.delete(runKey);
  connection.pragma('shrink_memory');
}

function stagePage(session: Session, { runKey, page, ...response }: PageToStage, body: Uint8Array): PageReceipt {
  const { run, staging } = openRun(session, runKey);
  const digest = digestOfPage(body);
  const unchanged = staging.skip(page, digest);
  // Page 1 is parsed even if it is unchanged, because its totals are checked.
  if (unchanged && page > 1) return { records: 0, newKeys: 0, totalPages: 0, totalRecords: 0, unchanged };
  const where = { page, workspaceId: run.workspaceId, redact: session.redact, ...response };
  const scanned = scanner.scan(body, where);
  if (scanned !== null) {
    const newKeys = unchanged ? 0 : staging.stageScanned(page, scanned, digest);
    const { records, totalPages, totalRecords } = scanned;
    return { records, newKeys, totalPages, totalRecords, unchanged };
  }
  const content = toStagedPage(parseUsagePage(body, where));
  const newKeys = unchanged ? 0 : staging.stagePage(page, content, digest);
  const { records, totalPages, totalRecords } = content;
  return { records: records.length, newKeys, totalPages, totalRecords, unchanged };
}

/** Converts a checked page of the service to staged records. */
function toStagedPage({ usage, total_records, total_pages }: UsagePage): StagedPage {
  return { records: usage.map(toStagedRecord), totalRecords: total_records, totalPages: total_pages };
}

function toStagedRecord({ tenant_id, period, credits_used, request_count }: UsageItem): StagedRecord {
  return { tenantId: tenant_id, period, credits: credits_used, requests: request_count };
}
