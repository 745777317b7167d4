import type { AlertChange } from '../alerts/state/alert-change.ts';
import { inertText } from '../core/text/inert-text.ts';
import { counted } from '../core/text/words.ts';
import type { LargestChange } from '../ledger/journal/runs/run-facts.ts';
import { withLedgerCopy } from '../operations/runs/ledger-copy.ts';
import {
  type AppliedRun,
  type DeliveryCounts,
  runSync,
  type SyncObserver,
  type SyncReport,
  type SyncRequest,
} from '../operations/runs/run-sync.ts';
import { formatInteger } from '../reports/formats/columns.ts';
import type { Context } from '../wiring/context.ts';
import {
  type CliCommand,
  type CliContext,
  EXIT,
  printProse,
  reportingCommand,
  withStopSignal,
} from './shared/cli-context.ts';
import { parsePeriodWindow } from './shared/options.ts';
import { createRunProgress } from './shared/progress.ts';

interface SyncOptions {
  workspace?: string;
  from?: string;
  to?: string;
  dryRun?: boolean;
}

export function syncCommand(cli: CliContext): CliCommand {
  return reportingCommand('sync')
    .option('--workspace <id>', 'only this workspace')
    .option('--from <period>', 'first period, YYYY-MM (default: as the daemon plans)')
    .option('--to <period>', 'last period, YYYY-MM (default: the current one)')
    .option('--dry-run', 'show what would change and which alerts would fire')
    .examples('usage-ledger sync', 'usage-ledger sync --workspace ws-123 --from 2026-01 --to 2026-03')
    .action((options: SyncOptions) => sync(cli, options));
}

async function sync(cli: CliContext, { workspace, dryRun = false, ...periods }: SyncOptions): Promise<void> {
  const request = { workspace, dryRun, ...parsePeriodWindow(periods) };
  const { workspaces, notifications } = await withStopSignal(async (signal) => {
    const run = (context: Context) => runAndPrint(cli, context, request, signal);
    if (!dryRun) return cli.withContext(run);
    return withLedgerCopy(await cli.loadConfig(), signal, (config) => cli.withContext(run, { config }));
  });
  if (cli.json) cli.printJson({ dry_run: dryRun, workspaces, notifications });
  const failed = workspaces.filter(({ status }) => status === 'failed').length;
  if (failed > 0) cli.exitCode = failed === workspaces.length ? EXIT.failed : EXIT.partial;
}

async function runAndPrint(
  cli: CliContext,
  context: Context,
  request: SyncRequest,
  signal: AbortSignal,
): Promise<SyncReport> {
  const isSingle = request.workspace !== undefined || context.config.workspaces.length === 1;
  const view = createRunProgress(cli, isSingle);
  const observer: SyncObserver = {
    async begin(workspaceId) {
      const { update, stop } = await view.begin(workspaceId);
      return { update: ({ pages, totalPages, walk }) => update(pages, totalPages, `pages, walk ${walk}`), stop };
    },
    applied(run, largest) {
      if (!cli.json) printRun(cli, run, request.dryRun, largest);
    },
    failed(workspaceId, error) {
      cli.noteFault(workspaceId, error);
      if (error.code === 'network') cli.note(`  base_url: ${context.workspace(workspaceId).baseUrl}`);
    },
    ended: (workspaceId) => cli.note(`${inertText(workspaceId)}: ended, no longer read by this ledger`),
  };
  const report = await runSync(context, request, { observer, signal }).finally(view.stop);
  if (report.notifications === null) return report;
  noteFailed(cli, report.notifications);
  if (context.config.rates !== null) (await import('./finance/rates.ts')).noteOtherRates(cli, context);
  return report;
}

function printRun(cli: CliContext, outcome: AppliedRun, dryRun: boolean, largest: readonly LargestChange[]): void {
  const { counts } = outcome;
  const kinds = (Object.keys(counts) as (keyof typeof counts)[])
    .filter((kind) => counts[kind] > 0)
    .map((kind) => `${formatInteger(counts[kind])} ${kind}`);
  const read = `${counted(outcome.records, 'record')} on ${counted(outcome.pages, 'page')}`;
  const made = `${dryRun ? 'would record' : 'recorded'} ${counted(outcome.entries, 'entry', 'entries')}: ${kinds.join(', ')}`;
  const unchanged = dryRun ? 'nothing would change' : 'nothing changed';
  const what = kinds.length === 0 ? unchanged : made;
  cli.print(`${inertText(outcome.workspaceId)}: ${what} (${read})`);
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
  for (const alert of changes) printProse(cli, `  ${alertLine(alert, dryRun)}`, 2);
}

function noteFailed(cli: CliContext, { pending, dead }: DeliveryCounts): void {
  if (pending + dead === 0) return;
  cli.note(`${counted(pending, 'notification')} left for the daemon or the next sync; ${dead} given up`);
}

function alertLine(alert: AlertChange, dryRun: boolean): string {
  const verb = dryRun ? `would be ${alert.change}` : alert.change;
  const subject = `${alert.rule} of ${inertText(alert.tenantId ?? 'the workspace')}`;
  const when = alert.period === null ? '' : ` in ${alert.period}`;
  const head = `alert ${verb}${alert.silent ? ' without a notification' : ''}: ${subject}${when}, ${alert.level}`;
  if (alert.current === null) return head;
  const limit = alert.threshold === null ? '' : `, limit ${formatInteger(alert.threshold)}`;
  const before = formatInteger(alert.previous?.credits ?? 0n);
  return `${head}: ${before} to ${formatInteger(alert.current.credits)} credits${limit}`;
}
