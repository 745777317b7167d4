import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { randomId } from '../../src/core/randomness.ts';
import { chargeReopened, commitClose } from '../../src/ledger/journal/charges/commit-close.ts';
import { closePeriod, type PeriodEvent, reopenPeriod } from '../../src/ledger/journal/close/close-period.ts';
import type { RunKind } from '../../src/ledger/journal/runs/claim-run.ts';
import { digestOfPage } from '../../src/ledger/journal/staging/page-log.ts';
import type { StagedRecord } from '../../src/ledger/journal/staging/staged-record.ts';
import type { RunWindow } from '../../src/ledger/journal/staging/staging.ts';
import { openForWriting } from '../../src/ledger/store/file/open.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { migrateLedger } from '../../src/ledger/store/schema/migrate.ts';
import type { UsageSource } from '../../src/sync/sync-deps.ts';
import { runCommands } from '../../src/writer/run-commands.ts';
import type { OpenRun, Session } from '../../src/writer/session.ts';
import { listingOf } from './run/listing.ts';
import { LOG_ROUTES, realRun, sessionOn, setRoutes, writerOn } from './run/real-run.ts';
import { workspaceConfig } from './run/workspace-config.ts';
import type { Applied } from './sandbox-fixture.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { NOON } from './time/test-clock.ts';

export interface OpenLedger {
  path: string;
  connection: LedgerDb;
}

let image: Buffer | undefined;

/**
 * A fresh ledger, or one more writing connection to the one at `path`; closed when the test has finished. A fresh one is a
 * copy of one that is made once, with an id of its own; it tells everything to the log.
 */
export function openLedger(path = join(temporaryFolder(), 'ledger.db')): OpenLedger {
  const isFresh = !existsSync(path);
  if (isFresh) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    image ??= emptyLedger();
    writeFileSync(path, image, { mode: 0o600 });
  }
  const connection = openForWriting(path);
  onTestFinished(() => {
    connection.close();
  });
  if (isFresh) connection.prepare("UPDATE ledger_meta SET value = ? WHERE name = 'ledger_id'").run(randomId());
  else migrateLedger(connection, path, '0.0.0', NOON);
  return { path, connection };
}

function emptyLedger(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  const path = join(folder, 'ledger.db');
  const connection = openForWriting(path);
  migrateLedger(connection, path, '0.0.0', NOON);
  setRoutes(connection, LOG_ROUTES);
  connection.close();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true });
  return bytes;
}

export interface ClaimOptions {
  workspaceId?: string;
  kind?: RunKind;
  slot?: string | null;
  nowMs?: number;
}

/** A run that has claimed its workspace and has staging to walk into, on the session of its writer. */
export interface RunUnderWay extends OpenRun {
  session: Session;
}

export function beginRun(connection: LedgerDb, options: ClaimOptions = {}): RunUnderWay {
  const { workspaceId = 'ws-1', kind = 'manual', slot = null, nowMs = NOON } = options;
  const window = { from: null, to: null };
  const session = sessionOn(connection);
  const claimed = runCommands.claimRun(session, {
    ...{ workspaceId, workspaceName: workspaceId, kind, slot, window, nowMs },
  });
  const open = 'runKey' in claimed ? session.runs.get(claimed.runKey) : undefined;
  if (open === undefined) throw new Error('the slot was done');
  return { ...open, session };
}

/** Stages the records as one page of one walk. */
export function stageWalk({ staging }: RunUnderWay, records: readonly StagedRecord[]): void {
  staging.beginWalk();
  const content = { records, totalRecords: records.length, totalPages: 1 };
  staging.stagePage(1, content, digestOfPage(Buffer.from(records.map((record) => record.tenantId).join())));
}

export function applyWalk({ session, run, staging }: RunUnderWay, nowMs = NOON) {
  const { alerts: rules, lookbackPeriods, settleHours } = workspaceConfig('', { id: run.workspaceId });
  const times = { startedAtMs: nowMs, finishedAtMs: nowMs };
  return runCommands.applyRun(session, {
    runKey: run.runKey,
    walk: { walkNumber: 1, ...times, facts: staging.finishWalk(), verdict: 'accepted', signs: [] },
    ...{ withdrawals: [], unconfirmed: [], nowMs },
    alerts: { rules, lookbackPeriods, settleHours },
  });
}

export interface PublishOptions extends ClaimOptions {
  withdraws?: boolean;
  /** The periods that are asked for; all, unless given. */
  window?: RunWindow;
}

/**
 * One run in which the service lists these records. Of what it does not list, the tenants' histories can be had, and lack it,
 * too, only when `withdraws`.
 */
export function publish(
  connection: LedgerDb,
  records: readonly StagedRecord[],
  { workspaceId = 'ws-1', nowMs = NOON, withdraws = false, ...request }: PublishOptions = {},
): Promise<Applied> {
  const perPage = Math.max(1, records.length);
  const listing = listingOf(workspaceId, records, perPage);
  const unknown = () => Promise.reject(new AppError('network', 'no history is to be had'));
  const source: UsageSource = withdraws ? listing : { ...listing, getTenantUsage: unknown };
  const workspace = { id: workspaceId, name: workspaceId, perPage };
  return realRun({ writer: writerOn(connection), source, now: () => nowMs, workspace, ...request });
}

export function usageRecord(tenant: string, credits: number | bigint, period = '2026-03'): StagedRecord {
  const isSafe = Number.isSafeInteger(Number(credits));
  return { tenantId: tenant, period, credits: isSafe ? Number(credits) : credits, requests: 10 };
}

const ACTED = { workspaceId: 'ws-1', by: 'Ada', note: 'test' };

/** A close by force, as the program commits it. */
export function closeMonth(connection: LedgerDb, period: string, nowMs = NOON): PeriodEvent {
  return closePeriod(connection, { ...ACTED, period, nowMs, force: true, settleHours: 48 }, commitClose);
}

export function reopenMonth(connection: LedgerDb, period: string, nowMs = NOON): PeriodEvent {
  return reopenPeriod(connection, { ...ACTED, period, nowMs }, chargeReopened);
}

/** Lets what follows change the ledger as only somebody past the program could. */
export function dropTriggers(connection: LedgerDb): void {
  const names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all();
  for (const name of names) connection.exec(`DROP TRIGGER ${name}`);
}
