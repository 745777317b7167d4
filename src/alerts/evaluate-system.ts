import { isoTime } from '../core/clock.ts';
import type { ClaimedRun } from '../ledger/journal/runs/claim-run.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { alerts } from '../ledger/store/schema/alert-tables.ts';
import { and, eq, isNull, prepared, sql } from '../ledger/store/schema/drizzle.ts';
import { findWorkspace, upsertWorkspace } from '../ledger/store/subjects.ts';
import { type EmergencyMessage, recordSentEmergencyMessages } from './outbox/emergency.ts';
import { notifyChannels } from './outbox/notify-channels.ts';
import type { NotifyContext } from './pipeline/notify-context.ts';
import type { NotifyOptions } from './pipeline/route.ts';
import { type JobHealth, judgeJob } from './rules/job-failed/detect.ts';
import type { Observation } from './rules/observation.ts';
import { judgeFailedRun, type RunFault } from './rules/sync-failed/detect.ts';
import { judgeStale } from './rules/sync-stale/detect.ts';
import { AlertBook } from './state/alert-book.ts';
import type { EvaluationResult } from './state/alert-change.ts';
import { isOpenAlertSql } from './state/alert-store.ts';

/** How long a workspace has had no complete run, and the limit for it. */
export interface StaleCheck {
  workspaceId: string;
  sinceMs: number;
  staleAfterMs: number;
}

/** Raises the system alert for a failed run. Runs inside the transaction that ends the run. */
export function evaluateFailure(
  connection: LedgerDb,
  run: ClaimedRun,
  fault: RunFault,
  notifying: NotifyOptions,
): EvaluationResult {
  return raise(connection, judgeFailedRun(fault), { ...run, actor: 'run', ...notifying });
}

/**
 * Raises `sync_stale` for workspaces without a recent complete run; the next complete run ends the alert. Takes the
 * write lock before reading, because SQLite refuses the writes of a transaction that read before another process
 * wrote. Writes nothing if nothing changed.
 */
export function evaluateStale(
  connection: LedgerDb,
  workspaces: readonly StaleCheck[],
  notifying: NotifyOptions,
): EvaluationResult {
  // A workspace without any run is not in the ledger yet, but its alert needs a row.
  const rowOf = (workspaceId: string) =>
    findWorkspace(connection, workspaceId) ?? upsertWorkspace(connection, { workspaceId, name: workspaceId });
  const raiseAll = connection.transaction(() =>
    workspaces.flatMap(({ workspaceId, sinceMs, staleAfterMs }) => {
      const seen = judgeStale(sinceMs, staleAfterMs);
      if (seen === null) return [];
      const { workspaceKey } = rowOf(workspaceId);
      return [raise(connection, seen, { workspaceKey, workspaceId, ...BY_TIMER, ...notifying })];
    }),
  );
  const raised = raiseAll.immediate();
  return {
    changes: raised.flatMap(({ changes }) => changes),
    due: raised.reduce((sum, { due }) => sum + due, 0),
  };
}

const isFailing = prepared((db) => {
  const isOwn = and(isNull(alerts.workspaceKey), eq(alerts.cause, sql.placeholder('cause')));
  return db.select({ alertKey: alerts.alertKey }).from(alerts).where(and(isOwn, isOpenAlertSql));
});

/**
 * Raises an alert about a job of the ledger, or ends it if `detail` is null. Writes nothing if nothing changed.
 * `alreadySent` contains the messages that channels received, or may have, while the ledger could not be written.
 */
export function evaluateJob(
  connection: LedgerDb,
  health: JobHealth,
  notifying: NotifyOptions,
  alreadySent: readonly EmergencyMessage[] = [],
): EvaluationResult {
  const seen = judgeJob(health);
  if (health.detail === null && !isFailing(connection).get({ cause: seen.cause })) return { changes: [], due: 0 };
  const ofLedger = { workspaceKey: null, workspaceId: null, ...BY_TIMER, ...notifying };
  return connection
    .transaction(() =>
      raise(connection, seen, ofLedger, () =>
        recordSentEmergencyMessages(connection, seen, alreadySent, notifying.routes),
      ),
    )
    .immediate();
}

const BY_TIMER = { runKey: null, runId: null, actor: 'timer' } as const;

/** Records a result about a workspace or the ledger, and notifies channels. Runs inside the caller's transaction. */
function raise(
  connection: LedgerDb,
  seen: Observation,
  about: Pick<NotifyContext, 'workspaceKey' | 'workspaceId' | 'runKey' | 'runId' | 'actor' | 'nowMs' | 'routes'>,
  beforeNotifying: () => void = () => undefined,
): EvaluationResult {
  const book = new AlertBook({ connection, ...about, seeding: false, at: isoTime(about.nowMs) });
  book.observe(seen);
  beforeNotifying();
  return notifyChannels(book);
}
