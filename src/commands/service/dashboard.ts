import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { chooseWorkspace } from '../../operations/workspace-choice.ts';
import type { Context } from '../../wiring/context.ts';
import { CliCommand, type CliContext, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { parseWholeNumber } from '../shared/options.ts';

interface CreateOptions {
  title: string;
  description?: string;
  workspace?: string;
}

export function dashboardCommand(cli: CliContext): CliCommand {
  return new CliCommand('dashboard')
    .addCommand(createCommand(cli))
    .examples("usage-ledger dashboard create --title 'Usage by team'");
}

function createCommand(cli: CliContext): CliCommand {
  return reportingCommand('create')
    .description('Create a dashboard in a workspace. Running it twice creates two.')
    .requiredOption('--title <title>', 'the title')
    .option('--description <text>', 'the description')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .examples("usage-ledger dashboard create --title 'Usage by team'")
    .action((options: CreateOptions) => cli.withContext((context) => createDashboard(cli, context, options)));
}

async function createDashboard(cli: CliContext, context: Context, options: CreateOptions): Promise<void> {
  const { title, description } = options;
  const workspace = chooseWorkspace(context.config, options.workspace);
  if (title.trim() === '') throw new UsageError('--title is empty', 'give a title');
  const dashboard = await withStopSignal(async (signal) =>
    (await context.client(workspace)).createDashboard({ title, description }, { signal }),
  );
  cli.printResult(dashboard, [`created dashboard ${inertText(dashboard.dashboard_id)} in ${inertText(workspace.id)}`]);
}

/** The service does not document its limit; a year is longer than any preview needs. */
const MAX_VALIDITY_SECONDS = 366 * 24 * 60 * 60;

interface TokenOptions {
  dashboard: string;
  validity?: string;
  workspace?: string;
}

export function embedTokenCommand(cli: CliContext): CliCommand {
  return reportingCommand('embed-token')
    .requiredOption('--dashboard <id>', 'the dashboard to embed')
    .option('--validity <seconds>', "lifetime of the token (default: the service's, one hour)")
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .examples('usage-ledger embed-token --dashboard d-123')
    .action((options: TokenOptions) => cli.withContext((context) => generateToken(cli, context, options)));
}

async function generateToken(cli: CliContext, context: Context, options: TokenOptions): Promise<void> {
  const { dashboard: dashboardId, validity } = options;
  if (dashboardId.trim() === '') throw new UsageError('--dashboard is empty', 'give a dashboard id');
  const workspace = chooseWorkspace(context.config, options.workspace);
  const validitySeconds =
    validity === undefined ? undefined : parseWholeNumber(validity, '--validity', 1, MAX_VALIDITY_SECONDS);
  const { token, expires_at } = await withStopSignal(async (signal) =>
    (await context.client(workspace)).generateEmbedToken({ dashboardId, validitySeconds }, { signal }),
  );
  cli.printResult({ token, expires_at }, [`token    ${inertText(token)}`, `expires  ${inertText(expires_at)}`]);
}
