import type { Command } from 'commander';
import { AppError, summarizeError, UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { tenantEntries, workspacesOfTenant } from '../../reports/queries/tenant.ts';
import { type UsageRow, usageRows } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, EXIT, examples, reportingCommand } from '../shared/cli-context.ts';
import { withStopSignal } from '../shared/stop-signal.ts';
import { compareHistories, fetchLiveHistory } from './tenant-live.ts';
import { type LiveReport, printTenantReports, type TenantReport } from './tenant-view.ts';

interface TenantOptions {
  workspace?: string;
  live?: boolean;
}

export function tenantCommand(cli: CliContext): Command {
  return reportingCommand('tenant')
    .argument('<tenant>', 'the tenant id')
    .option('--workspace <id>', 'only in this workspace (default: all that know the tenant)')
    .option('--live', 'ask the service too, and show both side by side')
    .addHelpText(
      'after',
      examples(
        'usage-ledger tenant acme',
        'usage-ledger tenant acme --workspace ws-123 --live',
        'usage-ledger tenant acme --json',
      ),
    )
    .action((tenantId: string, options: TenantOptions) =>
      cli.withContext((context) =>
        withStopSignal((signal) => showTenant(cli, context, { ...options, tenantId }, signal)),
      ),
    );
}

async function showTenant(
  cli: CliContext,
  context: Context,
  { tenantId, workspace, live }: TenantOptions & { tenantId: string },
  signal: AbortSignal,
): Promise<void> {
  if (tenantId === '') throw new UsageError('the tenant is empty', 'give the id of a tenant, such as `acme`');
  const reports: TenantReport[] = [];
  for (const workspaceId of workspacesToAsk(context, tenantId, workspace, live === true)) {
    const { connection } = context.reader();
    const usage = usageRows(connection, { workspaceId, tenantId });
    const entries = tenantEntries(connection, workspaceId, tenantId);
    const liveReport = live === true ? await askService(cli, context, workspaceId, tenantId, usage, signal) : null;
    reports.push({ workspace_id: workspaceId, usage, entries, live: liveReport });
  }
  const told = reports.filter(hasSomething);
  if (told.length === 0) cli.note(`nothing is known of tenant ${inertText(JSON.stringify(tenantId))}`);
  if (cli.json) cli.printJson({ tenant_id: tenantId, workspaces: told });
  else printTenantReports(cli, tenantId, told);
  const failed = reports.filter((report) => report.live !== null && 'error' in report.live).length;
  if (failed > 0) cli.exitCode = failed === reports.length ? EXIT.failed : EXIT.partial;
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
  workspaceId: string,
  tenantId: string,
  usage: UsageRow[],
  signal: AbortSignal,
): Promise<LiveReport> {
  try {
    const workspace = context.workspace(workspaceId);
    const live = await fetchLiveHistory(await context.client(workspace), tenantId, workspace.perPage, signal);
    if (!live.complete) cli.note(`${inertText(workspaceId)}: the service's listing moved while it was read`);
    return { complete: live.complete, periods: compareHistories(usage, live.items) };
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    const { code, message, hint } = summarizeError(error);
    cli.note(`${inertText(workspaceId)}: ${inertText(message)}`);
    if (hint !== undefined) cli.note(`  ${inertText(hint)}`);
    return { error: { code, message, hint: hint ?? null } };
  }
}

function hasSomething({ usage, entries, live }: TenantReport): boolean {
  if (usage.length > 0 || entries.length > 0) return true;
  return live !== null && ('error' in live || live.periods.length > 0);
}
