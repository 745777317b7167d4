import type Database from 'better-sqlite3';
import { isoTime } from '../../../core/clock.ts';
import { windowBounds } from '../../store/schema/keys.ts';
import { type ClaimedRun, releaseLease } from './claim-run.ts';

/** Why a run published nothing. */
export interface RunFailure {
  status: 'failed' | 'unstable' | 'suspicious_empty';
  code: string;
  message: string;
  pages: number;
  records: number;
}

/** Ends a run that publishes nothing and frees its workspace. A run that has been superseded keeps that status. */
export function failRun(connection: Database.Database, run: ClaimedRun, failure: RunFailure, nowMs: number): void {
  connection
    .transaction(() => {
      connection
        .prepare(
          `UPDATE runs SET status = ?, finished_at = ?, pages = ?, records = ?, error_code = ?, error_message = ?
           WHERE run_key = ? AND status = 'running'`,
        )
        .run(failure.status, isoTime(nowMs), failure.pages, failure.records, failure.code, failure.message, run.runKey);
      releaseLease(connection, run);
    })
    .immediate();
}

/** How many records the ledger holds inside the window: an empty answer is suspicious when there are any. */
export function countKnownRecords(connection: Database.Database, run: ClaimedRun): number {
  return Number(
    connection
      .prepare(
        `SELECT count(*) FROM tenant_usage u JOIN periods p ON p.period_key = u.period_key
         WHERE p.workspace_key = ? AND p.period >= ? AND p.period <= ? AND u.withdrawn = 0`,
      )
      .pluck()
      .get(run.workspaceKey, ...windowBounds(run.window)),
  );
}
