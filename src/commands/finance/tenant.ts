import type { Command } from 'commander';
import { AppError, UsageError } from '../../core/errors.ts';
import { isWanted } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { tenantNames } from '../../ledger/store/tenant-names.ts';
import { sheetOf } from '../../reports/formats/columns.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import { renderJson } from '../../reports/formats/json.ts';
import {
  PLACED_ENTRY_COLUMNS,
  type TenantEntry,
  tenantEntries,
  workspacesOfTenant,
} from '../../reports/queries/tenant.ts';
import { type UsageRow, usageRows } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, EXIT, examples, reportingCommand } from '../shared/cli-context.ts';
import { parseLimit } from '../shared/limit.ts';
import { addPeriodOptions, chosenPeriods, type PeriodOptions } from '../shared/period-window.ts';
import { withStopSignal } from '../shared/stop-signal.ts';
import {
  addSheetOptions,
  chosenFormat,
  LISTING_FORMAT,
  type ListingOptions,
  putSheet,
  putTable,
  putText,
} from './sheet-output.ts';
import { compareHistories, fetchLiveHistory } from './tenant-live.ts';
import { type LiveReport, printTenantReports, type TenantReport } from './tenant-view.ts';
import { noteNearTenants } from './unknown-tenant.ts';

interface TenantOptions extends ListingOptions, PeriodOptions {
  workspace?: string;
  live?: boolean;
}

type Asked = TenantOptions & { tenantId: string };

export function tenantCommand(cli: CliContext): Command {
  const command = addPeriodOptions(reportingCommand('tenant').argument('<tenant>', 'the tenant id'))
    .option('--workspace <id>', 'only in this workspace (default: all that know the tenant)')
    .option('--limit <number>', 'show at most so many entries of a workspace, the latest', parseLimit)
    .option('--live', 'ask the service too, and show both side by side')
    .addOption(LISTING_FORMAT);
  return addSheetOptions(command)
    .addHelpText(
      'after',
      examples(
        'usage-ledger tenant acme',
        'usage-ledger tenant acme --workspace ws-123 --live',
        'usage-ledger tenant acme --period 2026-02 --limit 20',
        'usage-ledger tenant acme --json',
        'usage-ledger tenant acme --format csv > acme.csv',
      ),
    )
    .action((tenantId: string, options: TenantOptions) =>
      cli.withContext((context) =>
        withStopSignal((signal) => showTenant(cli, context, { ...options, tenantId }, signal)),
      ),
    );
}

async function showTenant(cli: CliContext, context: Context, options: Asked, signal: AbortSignal): Promise<void> {
  const { tenantId, workspace, live } = options;
  const format = chosenFormat(options, 'table');
  if (tenantId === '') throw new UsageError('the tenant is empty', 'give the id of a tenant, such as `acme`');
  if (format !== 'table' && format !== 'json') {
    if (live === true) throw new UsageError(`--live is not for --format ${format}`, 'leave one of the two away');
    const workspaces = workspacesToAsk(context, tenantId, workspace, false);
    const rows = workspaces.flatMap((workspaceId) => entryRows(cli, context, workspaceId, options));
    await putSheet(cli, sheetOf('history', PLACED_ENTRY_COLUMNS, rows), { format, options });
    return;
  }
  const reports: TenantReport[] = [];
  for (const workspaceId of workspacesToAsk(context, tenantId, workspace, live === true)) {
    const { connection } = context.reader();
    const usage = usageRows(connection, { workspaceId, tenantId, period: chosenPeriods(options) });
    const entries = askedEntries(cli, context, workspaceId, options);
    const display_name = tenantNames(connection, { workspaceId, tenantId })(workspaceId, tenantId);
    const liveReport = live === true ? await askService(cli, context, { workspaceId, options, usage, signal }) : null;
    reports.push({ workspace_id: workspaceId, display_name, usage, entries, live: liveReport });
  }
  const told = reports.filter(hasSomething);
  if (told.length === 0) {
    cli.note(`nothing is known of tenant ${inertText(JSON.stringify(tenantId))}`);
    noteNearTenants(cli, context.reader().connection, { tenantId, workspaceId: workspace });
  }
  if (format === 'json') await putText(cli, renderJson({ tenant_id: tenantId, workspaces: told }), options);
  else if (options.out === undefined) printTenantReports(cli, tenantId, told);
  else await putTable(cli, '', options);
  const failed = reports.filter((report) => report.live !== null && 'error' in report.live).length;
  if (failed > 0) cli.exitCode = failed === reports.length ? EXIT.failed : EXIT.partial;
}

/** The entries of a workspace, the latest of them where so many are wanted only. */
function askedEntries(cli: CliContext, context: Context, workspaceId: string, options: Asked): TenantEntry[] {
  const { tenantId, limit } = options;
  const wanted = chosenPeriods(options);
  const all = tenantEntries(context.reader().connection, workspaceId, tenantId);
  const fitting = all.filter(({ period }) => isWanted(period, wanted));
  const shown = limit === undefined ? fitting : fitting.slice(-limit);
  const earlier = fitting.length - shown.length;
  if (earlier > 0) cli.note(`${inertText(workspaceId)}: ${formatInteger(earlier)} earlier entries`);
  return shown;
}

/** The same with what stands in a file beside them. */
function entryRows(cli: CliContext, context: Context, workspaceId: string, options: Asked) {
  const { tenantId } = options;
  const { connection } = context.reader();
  const display_name = tenantNames(connection, { workspaceId, tenantId })(workspaceId, tenantId);
  const entries = askedEntries(cli, context, workspaceId, options);
  return entries.map((entry) => ({ workspace_id: workspaceId, tenant_id: tenantId, display_name, ...entry }));
}

/** The named workspace, else every one that can be asked or whose ledger knows the tenant. */
function workspacesToAsk(context: Context, tenantId: string, workspace: string | undefined, live: boolean): string[] {
  requireKnownWorkspace(context, workspace);
  if (workspace !== undefined) return [workspace];
  const configured = live ? context.config.workspaces.map(({ id }) => id) : [];
  return [...new Set([...configured, ...workspacesOfTenant(context.reader().connection, tenantId)])];
}

async function askService(
  cli: CliContext,
  context: Context,
  asked: { workspaceId: string; options: Asked; usage: UsageRow[]; signal: AbortSignal },
): Promise<LiveReport> {
  const { workspaceId, usage, signal } = asked;
  const { tenantId } = asked.options;
  const wanted = chosenPeriods(asked.options);
  try {
    const workspace = context.workspace(workspaceId);
    const live = await fetchLiveHistory(await context.client(workspace), tenantId, workspace.perPage, signal);
    if (!live.complete) cli.note(`${inertText(workspaceId)}: the service's listing moved while it was read`);
    const periods = compareHistories(usage, live.items);
    return { complete: live.complete, periods: periods.filter(({ period }) => isWanted(period, wanted)) };
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    return { error: cli.noteFailure(workspaceId, error) };
  }
}

function hasSomething({ usage, entries, live }: TenantReport): boolean {
  if (usage.length > 0 || entries.length > 0) return true;
  return live !== null && ('error' in live || live.periods.length > 0);
}
