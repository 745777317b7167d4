import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pMap from 'p-map';
import type { AlertChange } from '../alerts/state/alert-change.ts';
import { AppError, summarizeError, UsageError } from '../core/errors.ts';
import { type Period, periodAt } from '../core/period.ts';
import { keepYoungGenerationSmall } from '../core/process/memory.ts';
import { inertText } from '../core/text/inert-text.ts';
import { counted } from '../core/text/words.ts';
import { releaseAllLeases } from '../ledger/journal/runs/claim-run.ts';
import { type LargestChange, largestChangesOfRun } from '../ledger/journal/runs/run-facts.ts';
import { copyLedger } from '../ledger/store/file/ledger-file.ts';
import { openForWriting, openReader } from '../ledger/store/file/open.ts';
import { formatInteger } from '../reports/formats/columns.ts';
import type { SyncOutcome } from '../sync/run.ts';
import type { SyncProgress } from '../sync/walk-until-verified.ts';
import type { Context } from '../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from './shared/cli-context.ts';
import { parsePeriodWindow } from './shared/options.ts';
import { createFleetView } from './shared/progress.ts';

interface SyncOptions {
  workspace?: string;
  from?: string;
  to?: string;
  dryRun?: boolean;
}

const MAX_CONCURRENT_RUNS = 8;
/** Maximum deliveries fetched at once. */
const DELIVERY_BATCH = 1_000;
/** From this many pages on, a run frees memory early instead of starting fast. */
const MIN_PAGES_FOR_SMALL_HEAP = 100;

type WorkspaceReport =
  | { workspace_id: string; status: 'applied'; [detail: string]: unknown }
  | { workspace_id: string; status: 'ended' }
  | { workspace_id: string; status: 'failed'; error: { code: string; message: string; hint: string | null } };

export function syncCommand(cli: CliContext): CliCommand {
  return reportingCommand('sync')
    .option('--workspace <id>', 'only this workspace')
    .option('--from <period>', 'first period, YYYY-MM (default: as the daemon plans)')
    .option('--to <period>', 'last period, YYYY-MM (default: the current one)')
    .option('--dry-run', 'show what would change and which alerts would fire')
    .examples('usage-ledger sync', 'usage-ledger sync --workspace ws-123 --from 2026-01 --to 2026-03')
    .action((options: SyncOptions) => sync(cli, options));
}

async function sync(cli: CliContext, options: SyncOptions): Promise<void> {
  const window = parsePeriodWindow(options);
  const { reports, notifications } = await withStopSignal((signal) => {
    const run = (context: Context) => syncAll(cli, context, options, window, signal);
    return options.dryRun === true ? withLedgerCopy(cli, signal, run) : cli.withContext(run);
  });
  if (cli.json) cli.printJson({ dry_run: options.dryRun === true, workspaces: reports, notifications });
  const failed = reports.filter((report) => report.status === 'failed').length;
  if (failed > 0) cli.exitCode = failed === reports.length ? EXIT.failed : EXIT.partial;
}

async function syncAll(
  cli: CliContext,
  context: Context,
  options: SyncOptions,
  window: { from?: Period; to?: Period },
  stop: AbortSignal,
): Promise<{ reports: WorkspaceReport[]; notifications: DeliveryCounts | null }> {
  const { workspace, dryRun = false } = options;
  // No run can be applied without the writer, so its death aborts the requests to the service.
  const death = new AbortController();
  void context.writerDeath.then((error) => death.abort(error));
  const signal = AbortSignal.any([stop, death.signal]);
  const current = periodAt(context.clock.now());
  if (window.from !== undefined && window.from > current) {
    throw new UsageError(`--from ${window.from} is in the future`, `use ${current} or earlier`);
  }
  const ids =
    workspace === undefined ? context.config.workspaces.map(({ id }) => id) : [context.workspace(workspace).id];
  // Open the ledger first, so that a failure is not reported once per workspace.
  await context.warm();
  const before = dryRun ? null : await deliverDue(context, signal);
  const view = createFleetView(cli, ids.length === 1);
  const syncOne = async (workspaceId: string): Promise<WorkspaceReport> => {
    signal.throwIfAborted();
    const progress = await view.begin(workspaceId);
    try {
      const onProgress = (seen: SyncProgress): void => {
        // Page buffers are collected early; for the daemon, the pm2 configuration does this.
        if (seen.pages >= MIN_PAGES_FOR_SMALL_HEAP) keepYoungGenerationSmall();
        progress.update(seen.pages, seen.totalPages, `pages, walk ${seen.walk}`);
      };
      const request = { workspaceId, kind: 'manual', slot: null, ...window, signal, onProgress } as const;
      const outcome = await context.sync(request).finally(progress.stop);
      return reportOutcome(cli, context, outcome, dryRun);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (workspace === undefined && summarizeError(error).code === 'workspace_ended') {
        cli.note(`${inertText(workspaceId)}: ended, no longer read by this ledger`);
        return { workspace_id: workspaceId, status: 'ended' };
      }
      if (!(error instanceof AppError)) throw error;
      return { workspace_id: workspaceId, status: 'failed', error: cli.noteFailure(workspaceId, error) };
    }
  };
  const reports = await syncSideBySide(ids, syncOne).finally(view.stop);
  if (before === null) return { reports, notifications: null };
  const after = await deliverDue(context, signal);
  const notifications = {
    delivered: before.delivered + after.delivered,
    pending: after.pending,
    dead: before.dead + after.dead,
  };
  noteFailed(cli, notifications);
  if (context.config.rates !== null) (await import('./finance/rates.ts')).noteOtherRates(cli, context);
  return { reports, notifications };
}

/** Runs `syncOne` for each id. The first failure begins no further run, and is thrown when those in progress have ended. */
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
    // They still use the ledger, which the caller closes.
    await Promise.allSettled(runs);
  }
}

function reportOutcome(cli: CliContext, context: Context, outcome: SyncOutcome, dryRun: boolean): WorkspaceReport {
  if (outcome.status !== 'applied') throw new Error('a manual run has no schedule slot to skip');
  const largest = dryRun ? largestChangesOfRun(context.reader().connection, outcome.runId) : [];
  if (!cli.json) printOutcome(cli, outcome, dryRun, largest);
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
    ...(dryRun ? { largest_changes: largest } : {}),
  };
}

interface DeliveryCounts {
  delivered: number;
  /** Left for the daemon or the next sync. */
  pending: number;
  dead: number;
}

/** Composes and sends due notifications until none is left. Each message is tried once. */
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

function printOutcome(
  cli: CliContext,
  outcome: Extract<SyncOutcome, { status: 'applied' }>,
  dryRun: boolean,
  largest: LargestChange[],
): void {
  const { counts } = outcome;
  const kinds = (Object.keys(counts) as (keyof typeof counts)[])
    .filter((kind) => counts[kind] > 0)
    .map((kind) => `${formatInteger(counts[kind])} ${kind}`);
  const what = kinds.length === 0 ? 'nothing changed' : kinds.join(', ');
  const read = `${counted(outcome.records, 'record')} on ${counted(outcome.pages, 'page')}`;
  cli.print(`${inertText(outcome.workspaceId)}: ${dryRun ? 'would record ' : ''}${what} (${read})`);
  for (const change of largest) {
    const sign = change.credits_delta < 0n ? '' : '+';
    cli.print(
      `  ${change.period}  ${inertText(change.tenant_id)}  ${change.kind}  ${sign}${formatInteger(change.credits_delta)} to ${formatInteger(change.credits_after)}`,
    );
  }
  const existing = outcome.alerts.changes.filter(({ silentBecause }) => silentBecause === 'seed');
  const changes = outcome.alerts.changes.filter(({ silentBecause }) => silentBecause !== 'seed');
  if (existing.length > 0) {
    const conditions = counted(existing.length, 'existing condition');
    cli.print(`  First sync: ${dryRun ? 'would record' : 'recorded'} ${conditions} without notifying anyone.`);
  }
  for (const alert of changes) cli.print(`  ${alertLine(alert, dryRun)}`);
}

function noteFailed(cli: CliContext, { pending, dead }: DeliveryCounts): void {
  if (pending + dead === 0) return;
  cli.note(`${counted(pending, 'notification')} left for the daemon or the next sync; ${dead} given up`);
}

function alertLine(alert: AlertChange, dryRun: boolean): string {
  const verb = dryRun ? `would be ${alert.change}` : alert.change;
  const subject = `${alert.rule} ${alert.level} for ${inertText(alert.tenantId ?? 'the workspace')}`;
  const when = alert.period === null ? '' : ` in ${alert.period}`;
  const head = `alert ${verb}${alert.silent ? ' silently' : ''}: ${subject}${when}`;
  if (alert.current === null) return head;
  const limit = alert.threshold === null ? '' : ` (threshold ${formatInteger(alert.threshold)})`;
  const before = formatInteger(alert.previous?.credits ?? 0n);
  return `${head}, ${before} to ${formatInteger(alert.current.credits)} credits${limit}`;
}

/**
 * Runs `use` on a temporary copy of the ledger: a dry run takes every step of a real one, while the ledger itself is only
 * read. Leases of running syncs are released in the copy.
 */
async function withLedgerCopy<T>(
  cli: CliContext,
  signal: AbortSignal,
  use: (context: Context) => Promise<T>,
): Promise<T> {
  const config = await cli.loadConfig();
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-dry-run-'));
  try {
    const copy = join(folder, 'ledger.db');
    if (existsSync(config.ledger.path)) {
      const reader = openReader(config.ledger.path);
      try {
        await copyLedger(reader.connection, copy, signal);
      } finally {
        reader.close();
      }
      freeWorkspaces(copy);
    }
    return await cli.withContext(use, { config: { ...config, ledger: { ...config.ledger, path: copy } } });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function freeWorkspaces(copy: string): void {
  const connection = openForWriting(copy);
  try {
    releaseAllLeases(connection);
  } finally {
    connection.close();
  }
}
