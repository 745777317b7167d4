import { evaluateRun, type RunAlertSettings } from '../../alerts/evaluate/evaluate-run.ts';
import { evaluateFailure, evaluateJob } from '../../alerts/evaluate/evaluate-self.ts';
import type { RunFault } from '../../alerts/rules/own/sync-failed.ts';
import type { RunAlerts } from '../../alerts/track/alert-change.ts';
import { chargeRun } from '../../ledger/journal/charges/charge-run.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import { type AbsentKey, absentAgain } from '../../ledger/journal/runs/absences.ts';
import { type ApplyResult, applyRun } from '../../ledger/journal/runs/apply-run.ts';
import {
  type ClaimedRun,
  type ClaimRequest,
  claimRun,
  renewLease,
  type SlotDone,
} from '../../ledger/journal/runs/claim-run.ts';
import { countKnownRecords, failRun, type RunFailure } from '../../ledger/journal/runs/fail-run.ts';
import { recordWalk, type WalkRecord } from '../../ledger/journal/runs/walks.ts';
import type { StagedPage, StagedRecord } from '../../ledger/journal/staging/staged-record.ts';
import { RunStaging, type WalkFacts } from '../../ledger/journal/staging/staging.ts';
import type { UsageItem } from '../../usage-api/answers/check-item.ts';
import type { UsagePage } from '../../usage-api/answers/check-page.ts';
import { parseUsagePage } from '../../usage-api/answers/check-page.ts';
import { type Desk, type Noted, noteHead, type OpenRun } from './desk.ts';

/** A run under way is named by its key. */
export interface OfRun {
  runKey: number;
}

/** What staging says of a page that has arrived there. */
export interface PageReceipt {
  /** Records on the page. */
  records: number;
  /** Of them, those whose key no page before on the walk had; records outside the window do not count. */
  newKeys: number;
  totalPages: number;
  totalRecords: number;
}

export interface Publication extends OfRun {
  walk: WalkRecord;
  withdrawals: AbsentKey[];
  unconfirmed: AbsentKey[];
  nowMs: number;
  alerts: RunAlertSettings;
}

export interface FailedRun extends OfRun {
  failure: RunFailure;
  fault: RunFault | null;
  nowMs: number;
}

/** A run from its claim to its end. */
export const runCommands = {
  claimRun({ connection, runs, claimant }: Desk, request: ClaimRequest): ClaimedRun | SlotDone {
    const run = claimRun(connection, request, claimant);
    if ('runKey' in run) {
      runs.set(run.runKey, { run, staging: new RunStaging(connection, run.workspaceKey, run.window) });
    }
    return run;
  },

  /** False when another run has taken the workspace. A run that has ended meanwhile has nothing left to lose. */
  renewLease({ connection, runs }: Desk, { runKey, nowMs }: OfRun & { nowMs: number }): boolean {
    const open = runs.get(runKey);
    return open === undefined || renewLease(connection, open.run, nowMs);
  },

  beginWalk: (desk: Desk, { runKey }: OfRun): void => openRun(desk, runKey).staging.beginWalk(),

  stagePage(desk: Desk, { runKey, page, body }: OfRun & { page: number; body: ArrayBuffer }): PageReceipt {
    const { run, staging } = openRun(desk, runKey);
    const bytes = new Uint8Array(body);
    const content = toStagedPage(parseUsagePage(bytes, { page, workspaceId: run.workspaceId, redact: desk.redact }));
    const newKeys = staging.stagePage(page, content, bytes);
    const { records, totalPages, totalRecords } = content;
    return { records: records.length, newKeys, totalPages, totalRecords };
  },

  finishWalk: (desk: Desk, { runKey }: OfRun): WalkFacts => openRun(desk, runKey).staging.finishWalk(),

  /** Keeps the certificate of a walk that was not accepted. */
  recordWalk: ({ connection }: Desk, { runKey, walk }: OfRun & { walk: WalkRecord }): void =>
    recordWalk(connection, runKey, walk),

  countKnownRecords: (desk: Desk, { runKey }: OfRun): number =>
    countKnownRecords(desk.connection, openRun(desk, runKey).run),

  /** Keys that are absent from this run's walk and were from an earlier run's. */
  absentAgain(desk: Desk, { runKey }: OfRun): AbsentKey[] {
    const { run, staging } = openRun(desk, runKey);
    return absentAgain(desk.connection, run, staging.keys);
  },

  /** Applies the run; its staging is gone afterwards. */
  applyRun(
    desk: Desk,
    { runKey, walk: { facts, ...walk }, withdrawals, unconfirmed, nowMs, alerts }: Publication,
  ): ApplyResult<RunAlerts> & Noted {
    const { run, staging } = openRun(desk, runKey);
    const result = applyRun(desk.connection, {
      run,
      staging,
      facts,
      walk,
      withdrawals,
      unconfirmed,
      nowMs,
      afterMerge: (merged) => {
        chargeRun(merged);
        return evaluateRun(merged, alerts, { priceOf: creditPricer(merged.connection, run.workspaceId) });
      },
    });
    endRun(desk, runKey);
    const noted = noteHead(desk, result.appliedSeq, result.digest, nowMs);
    const news = { job: 'checkpoint' as const, detail: noted.checkpointFault };
    result.extra.due += evaluateJob(desk.connection, news, nowMs).due;
    return { ...result, ...noted };
  },

  /** Ends a run that applies nothing, and raises its alert unless nobody is at fault (`fault` null), or it was overtaken before. */
  failRun(desk: Desk, { runKey, failure, fault, nowMs }: FailedRun): RunAlerts {
    const { connection } = desk;
    const { run } = openRun(desk, runKey);
    const fail = connection.transaction((): RunAlerts => {
      const isOwn = failRun(connection, run, failure, nowMs);
      if (fault === null || !isOwn) return { changes: [], due: 0 };
      return evaluateFailure(connection, run, fault, nowMs);
    });
    try {
      return fail.immediate();
    } finally {
      // Also when the failure itself cannot be written: staging would stay in memory for good.
      endRun(desk, runKey);
    }
  },
};

function openRun({ runs }: Desk, runKey: number): OpenRun {
  const open = runs.get(runKey);
  if (open === undefined) throw new Error(`run ${runKey} is not open in this process`);
  return open;
}

function endRun({ connection, runs }: Desk, runKey: number): void {
  runs.delete(runKey);
  connection.pragma('shrink_memory');
}

/** A checked page of the service in the ledger's words; its periods' bounds follow from their labels. */
function toStagedPage({ usage, total_records, total_pages }: UsagePage): StagedPage {
  return { records: usage.map(toStagedRecord), totalRecords: total_records, totalPages: total_pages };
}

function toStagedRecord({ tenant_id, period, credits_used, request_count }: UsageItem): StagedRecord {
  return { tenantId: tenant_id, period, credits: credits_used, requests: request_count };
}
