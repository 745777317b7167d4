import pMap from 'p-map';
import { AppError, InputError, summarizeError } from '../../core/errors.ts';
import { type Period, periodAt } from '../../core/period.ts';
import { keepYoungGenerationSmall } from '../../core/process/memory.ts';
import { type LargestChange, largestChangesOfRun } from '../../ledger/journal/runs/run-facts.ts';
import type { SyncOutcome } from '../../sync/run.ts';
import type { SyncProgress } from '../../sync/walk-until-verified.ts';
import type { Context } from '../../wiring/context.ts';

const MAX_CONCURRENT_RUNS = 8;
/** At most this many deliveries are read from the ledger at once. */
const DELIVERY_BATCH = 1_000;
/** A run with at least this many pages collects garbage early. Shorter runs do not, because it slows down the start. */
const MIN_PAGES_FOR_SMALL_HEAP = 100;

export interface SyncRequest {
  /** The workspace to read; absent: all of them. */
  workspace?: string | undefined;
  from?: Period;
  to?: Period;
  /**
   * True for a dry run, whose context has a copy of the ledger. Nobody is notified, and each report lists the largest
   * changes.
   */
  dryRun: boolean;
}

export type AppliedRun = Extract<SyncOutcome, { status: 'applied' }>;

/** Functions that are called while the runs are in progress. */
export interface SyncObserver {
  /**
   * Called when the run of a workspace begins. The function `update` of the result is called for each page, and `stop`
   * at the end of the run.
   */
  begin(workspaceId: string): Promise<{ update(seen: SyncProgress): void; stop(): void }>;
  applied(run: AppliedRun, largest: readonly LargestChange[]): void;
  failed(workspaceId: string, error: WorkspaceError): void;
  ended(workspaceId: string): void;
}

interface WorkspaceError {
  code: string;
  message: string;
  hint: string | null;
}

export type WorkspaceReport =
  | { workspace_id: string; status: 'applied'; [detail: string]: unknown }
  | { workspace_id: string; status: 'ended' }
  | { workspace_id: string; status: 'failed'; error: WorkspaceError };

export interface DeliveryCounts {
  delivered: number;
  /** The number of messages that the daemon or the next sync still has to send. */
  pending: number;
  dead: number;
}

export interface SyncReport {
  workspaces: WorkspaceReport[];
  /** The numbers of due notifications that were delivered, are pending or were given up; null after a dry run. */
  notifications: DeliveryCounts | null;
}

/**
 * Syncs workspaces in this process, several at a time, and sends due notifications before and after. If one workspace
 * fails, the others continue. An ended workspace is skipped unless it was named. Throws InputError if the window begins
 * in a future month.
 */
export async function runSync(
  context: Context,
  { workspace, dryRun, ...window }: SyncRequest,
  { observer, signal: stop }: { observer: SyncObserver; signal: AbortSignal },
): Promise<SyncReport> {
  // No run can be applied without the writer's thread. If that thread ends, the requests to the service are aborted,
  // too.
  const death = new AbortController();
  void context.writerDeath.then((error) => death.abort(error));
  const signal = AbortSignal.any([stop, death.signal]);
  requireStarted(window.from, periodAt(context.clock.now()));
  const ids =
    workspace === undefined ? context.config.workspaces.map(({ id }) => id) : [context.workspace(workspace).id];
  // The ledger is opened first, so that a failure is reported once and not for each workspace.
  await context.warm();
  const before = dryRun ? null : await deliverDue(context, signal);
  const syncOne = async (workspaceId: string): Promise<WorkspaceReport> => {
    signal.throwIfAborted();
    const progress = await observer.begin(workspaceId);
    try {
      const onProgress = (seen: SyncProgress): void => {
        // Makes V8 collect the buffers of pages early. For the daemon, the pm2 configuration does this.
        if (seen.pages >= MIN_PAGES_FOR_SMALL_HEAP) keepYoungGenerationSmall();
        progress.update(seen);
      };
      const request = { workspaceId, kind: 'manual', slot: null, ...window, signal, onProgress } as const;
      const outcome = await context.sync(request).finally(progress.stop);
      if (outcome.status !== 'applied') throw new Error('a manual run has no schedule slot to skip');
      const largest = dryRun ? largestChangesOfRun(context.reader().connection, outcome.runId) : null;
      observer.applied(outcome, largest ?? []);
      return recordOfRun(outcome, largest);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (!(error instanceof AppError)) throw error;
      const { code, message, hint = null } = summarizeError(error);
      if (workspace === undefined && code === 'workspace_ended') {
        observer.ended(workspaceId);
        return { workspace_id: workspaceId, status: 'ended' };
      }
      observer.failed(workspaceId, { code, message, hint });
      return { workspace_id: workspaceId, status: 'failed', error: { code, message, hint } };
    }
  };
  const workspaces = await syncSideBySide(ids, syncOne);
  if (before === null) return { workspaces, notifications: null };
  const after = await deliverDue(context, signal);
  const notifications = {
    delivered: before.delivered + after.delivered,
    pending: after.pending,
    dead: before.dead + after.dead,
  };
  return { workspaces, notifications };
}

function requireStarted(from: Period | undefined, current: Period): void {
  if (from === undefined || from <= current) return;
  throw new InputError((nameOf) => `${nameOf('from')} ${from} is in the future`, `use ${current} or earlier`);
}

/**
 * Runs `syncOne` for each id, several at a time. After the first failure, no further run begins. The failure is thrown
 * when the runs in progress have ended.
 */
async function syncSideBySide<Report>(
  ids: readonly string[],
  syncOne: (id: string) => Promise<Report>,
): Promise<Report[]> {
  const runs: Promise<Report>[] = [];
  const begin = (id: string): Promise<Report> => {
    const run = syncOne(id);
    runs.push(run);
    return run;
  };
  try {
    return await pMap(ids, begin, { concurrency: MAX_CONCURRENT_RUNS });
  } finally {
    // Waits for the runs, because they still use the ledger, which the caller closes next.
    await Promise.allSettled(runs);
  }
}

function recordOfRun(outcome: AppliedRun, largest: readonly LargestChange[] | null): WorkspaceReport {
  return {
    workspace_id: outcome.workspaceId,
    status: 'applied',
    run_id: outcome.runId,
    from_period: outcome.window.from,
    to_period: outcome.window.to,
    walks: outcome.walks,
    pages: outcome.pages,
    records: outcome.records,
    entries: outcome.entries,
    entries_by_kind: outcome.counts,
    digest: outcome.digest,
    alerts: outcome.alerts.changes.map((alert) => ({
      alert_id: alert.alertId,
      change: alert.change,
      rule: alert.rule,
      tenant_id: alert.tenantId,
      period: alert.period,
      level: alert.level,
      previous_credits: alert.previous?.credits ?? null,
      current_credits: alert.current?.credits ?? null,
      previous_requests: alert.previous?.requests ?? null,
      current_requests: alert.current?.requests ?? null,
      threshold: alert.threshold,
      silent: alert.silent,
      silent_because: alert.silentBecause,
    })),
    ...(largest === null ? {} : { largest_changes: largest }),
  };
}

/**
 * Writes the messages of due notifications and sends them, until no message is due. Each message is tried only once.
 */
async function deliverDue(context: Context, signal: AbortSignal): Promise<DeliveryCounts> {
  const deliveries: DeliveryCounts = { delivered: 0, pending: 0, dead: 0 };
  for (;;) {
    await context.compose();
    const due = context.dueDeliveries(DELIVERY_BATCH);
    if (due.length === 0) return deliveries;
    for (const { notificationId } of due) {
      const { state } = await context.deliver(notificationId, signal);
      deliveries[state === 'skipped' ? 'pending' : state] += 1;
    }
  }
}
