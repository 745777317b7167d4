import { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { Context } from '../../wiring/context.ts';
import { chooseWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { withStopSignal } from '../shared/stop-signal.ts';

interface CreateOptions {
  title: string;
  description?: string;
  workspace?: string;
}

export function dashboardCommand(cli: CliContext): Command {
  return new Command('dashboard')
    .addCommand(createCommand(cli))
    .addHelpText('after', examples("usage-ledger dashboard create --title 'Usage by team'"));
}

function createCommand(cli: CliContext): Command {
  return reportingCommand('create')
    .description('Create a dashboard in a workspace. Done twice, it creates two.')
    .requiredOption('--title <title>', 'title of the dashboard')
    .option('--description <text>', 'description of the dashboard')
    .option('--workspace <id>', 'the workspace; may be left out when only one is configured')
    .addHelpText(
      'after',
      examples(
        "usage-ledger dashboard create --title 'Usage by team'",
        "usage-ledger dashboard create --title Billing --description 'For finance' --workspace ws-123 --json",
      ),
    )
    .action((options: CreateOptions) => cli.withContext((context) => createDashboard(cli, context, options)));
}

async function createDashboard(cli: CliContext, context: Context, options: CreateOptions): Promise<void> {
  const { title, description } = options;
  const workspace = chooseWorkspace(context.config, options.workspace);
  if (title.trim() === '') throw new UsageError('--title is empty', 'give --title a text');
  const dashboard = await withStopSignal(async (signal) =>
    (await context.client(workspace)).createDashboard({ title, description }, { signal }),
  );
  cli.answer(dashboard, [`created dashboard ${inertText(dashboard.dashboard_id)} in ${inertText(workspace.id)}`]);
}
