import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import type { LedgerRule } from '../../core/text/alert-words.ts';
import type { ClaimedRun } from '../../ledger/journal/runs/claim-run.ts';
import { query } from '../../ledger/store/query.ts';
import { asc } from '../../ledger/store/schema/drizzle.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { findWorkspace, nameWorkspace } from '../../ledger/store/subjects.ts';
import { AlertBook } from '../book/alert-book.ts';
import type { RunAlerts } from '../book/alert-change.ts';
import type { ChannelRoute } from '../notify/routes.ts';
import { type FailedRun, judgeFailedRun, judgeLedger, judgeStale } from '../rules/self.ts';
import { observation } from './observation.ts';

/** A run that published nothing through a fault that somebody has to know of. */
export interface RunFault extends FailedRun {
  message: string;
}

/** A workspace that may have gone without a complete run for too long. */
export interface StaleCheck {
  workspaceId: string;
  /** How long ago the last complete run ended. */
  sinceMs: number;
  staleAfterMs: number;
}

/** What is wrong with the ledger as a whole, in words; null: nothing any more. */
export interface LedgerNews {
  rule: LedgerRule;
  detail: string | null;
}

interface Telling {
  /** The channels that there are, with what each of them is told of. */
  channels: readonly ChannelRoute[];
  nowMs: number;
}

/** Raises what a failed run says about ourselves. Runs inside the transaction that ends the run. */
export function evaluateFailure(
  connection: Database.Database,
  run: ClaimedRun,
  fault: RunFault,
  { channels, nowMs }: Telling,
): RunAlerts {
  const { workspaceKey, workspaceId, runKey, runId } = run;
  const book = new AlertBook({
    ...{ connection, workspaceKey, workspaceId, runKey, runId, actor: 'run' as const },
    ...{ seeding: false, at: isoTime(nowMs), nowMs, channels },
  });
  const { rule, judgement } = judgeFailedRun(fault);
  book.observe(observation({ rule, periodKey: null, tenantKey: null, judgement, detail: fault.message }));
  return book.finish();
}

/**
 * Raises `sync_stale` for workspaces without a complete run for too long; one that runs again resolves it. In one
 * transaction, and without writing anything when there is no news. It takes the write lock first: SQLite refuses to
 * write on what was read before another process wrote.
 */
export function evaluateStale(
  connection: Database.Database,
  workspaces: readonly StaleCheck[],
  { channels, nowMs }: Telling,
): RunAlerts {
  const outcome: RunAlerts = { changes: [], notificationIds: [] };
  // One that has never begun a run is told as well, and the ledger does not know it yet.
  const rowOf = (workspaceId: string) =>
    findWorkspace(connection, workspaceId) ?? nameWorkspace(connection, { workspaceId, name: workspaceId });
  const raise = connection.transaction(() => {
    for (const { workspaceId, sinceMs, staleAfterMs } of workspaces) {
      const judgement = judgeStale(sinceMs, staleAfterMs);
      if (judgement === null) continue;
      const workspaceKey = rowOf(workspaceId).workspaceKey;
      const book = new AlertBook({
        ...{ connection, workspaceKey, workspaceId, runKey: null, runId: null, actor: 'timer' as const },
        ...{ seeding: false, at: isoTime(nowMs), nowMs, channels },
      });
      const minutes = Math.round(sinceMs / 60_000);
      const detail = `no complete run for ${minutes} minutes`;
      book.observe(observation({ rule: 'sync_stale', periodKey: null, tenantKey: null, judgement, detail }));
      const { changes, notificationIds } = book.finish();
      outcome.changes.push(...changes);
      outcome.notificationIds.push(...notificationIds);
    }
    return outcome;
  });
  return raise.immediate();
}

/**
 * Raises an alert about the ledger as a whole, or with `detail` null ends it. It stands in the workspace that the ledger
 * has known for longest. Writes nothing when there is no news.
 */
export function evaluateLedger(
  connection: Database.Database,
  { rule, detail }: LedgerNews,
  { channels, nowMs }: Telling,
): RunAlerts {
  const first = query(connection).select().from(workspaces).orderBy(asc(workspaces.workspaceKey)).limit(1).get();
  if (first === undefined) return { changes: [], notificationIds: [] };
  const raise = connection.transaction(() => {
    const book = new AlertBook({
      ...{
        connection,
        workspaceKey: first.workspaceKey,
        workspaceId: first.workspaceId,
        runKey: null,
        runId: null,
        actor: 'timer' as const,
      },
      ...{ seeding: false, at: isoTime(nowMs), nowMs, channels },
    });
    const judgement = judgeLedger(rule, detail);
    book.observe(observation({ rule, periodKey: null, tenantKey: null, judgement, detail }));
    return book.finish();
  });
  return raise.immediate();
}
