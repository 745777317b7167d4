import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { chargeRun } from '../../src/ledger/journal/charges/charge-run.ts';
import { type ApplyResult, applyRun } from '../../src/ledger/journal/runs/apply-run.ts';
import { type ClaimedRun, claimRun, type RunKind } from '../../src/ledger/journal/runs/claim-run.ts';
import type { StagedRecord } from '../../src/ledger/journal/staging/staged-record.ts';
import { RunStaging } from '../../src/ledger/journal/staging/staging.ts';
import { type LedgerConnection, openForWriting } from '../../src/ledger/store/file/open.ts';
import { migrateLedger } from '../../src/ledger/store/schema/migrate.ts';
import type { UsageSource } from '../../src/sync/sync-deps.ts';
import { listingOf } from './run/listing.ts';
import { realRun, writerOn } from './run/real-run.ts';
import type { Applied } from './sandbox-fixture.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { NOON } from './time/test-clock.ts';

export interface OpenLedger {
  path: string;
  connection: LedgerConnection;
}

/** A fresh ledger, or one more writing connection to the one at `path`; closed when the test has finished. */
export function openLedger(path = join(temporaryFolder(), 'ledger.db')): OpenLedger {
  const connection = openForWriting(path);
  onTestFinished(() => {
    connection.close();
  });
  migrateLedger(connection, path, '0.0.0', NOON);
  return { path, connection };
}

export interface ClaimOptions {
  workspaceId?: string;
  kind?: RunKind;
  slot?: string | null;
  nowMs?: number;
}

/** A run that has claimed its workspace and has staging to walk into. */
export interface RunUnderWay {
  run: ClaimedRun;
  staging: RunStaging;
}

export function beginRun(connection: LedgerConnection, options: ClaimOptions = {}): RunUnderWay {
  const { workspaceId = 'ws-1', kind = 'manual', slot = null, nowMs = NOON } = options;
  const window = { from: null, to: null };
  const run = claimRun(connection, { workspaceId, workspaceName: workspaceId, kind, slot, window, nowMs });
  if (!('runKey' in run)) throw new Error(`the slot was done by ${run.doneBy}`);
  return { run, staging: new RunStaging(connection, run.workspaceKey, window) };
}

/** Stages the records as one page of one walk. */
export function stageWalk({ staging }: RunUnderWay, records: readonly StagedRecord[]): void {
  staging.beginWalk();
  const content = { records, totalRecords: records.length, totalPages: 1 };
  staging.stagePage(1, content, Buffer.from(records.map((record) => record.tenantId).join()));
}

export function applyWalk(
  connection: LedgerConnection,
  { run, staging }: RunUnderWay,
  nowMs = NOON,
): ApplyResult<null> {
  const result = applyRun(connection, {
    run,
    staging,
    facts: staging.finishWalk(),
    walk: { walkNumber: 1, startedAtMs: nowMs, finishedAtMs: nowMs, verdict: 'accepted', signs: [] },
    withdrawals: [],
    nowMs,
    afterMerge: (merged) => {
      chargeRun(merged);
      return null;
    },
  });
  return result;
}

/** One run in which the service lists these records; what it does not list, the tenants' histories still have. */
export function publish(
  connection: LedgerConnection,
  records: readonly StagedRecord[],
  { workspaceId = 'ws-1', nowMs = NOON, ...request }: ClaimOptions = {},
): Promise<Applied> {
  const perPage = Math.max(1, records.length);
  const source: UsageSource = {
    ...listingOf(workspaceId, records, perPage),
    getTenantUsage: () => Promise.reject(new AppError('network', 'no history is to be had')),
  };
  const workspace = { id: workspaceId, name: workspaceId, perPage };
  return realRun({ writer: writerOn(connection), source, now: () => nowMs, workspace, ...request });
}

export function usageRecord(tenant: string, credits: number | bigint, period = '2026-03'): StagedRecord {
  const isSafe = Number.isSafeInteger(Number(credits));
  return { tenantId: tenant, period, credits: isSafe ? Number(credits) : credits, requests: 10 };
}
