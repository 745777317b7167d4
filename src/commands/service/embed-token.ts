import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { Context } from '../../wiring/context.ts';
import { chooseWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { withStopSignal } from '../shared/stop-signal.ts';
import { parseWholeNumber } from '../shared/whole-number.ts';

/** The service's own bounds are not shown anywhere; a year is longer than any preview. */
const LONGEST_VALIDITY_SECONDS = 366 * 24 * 60 * 60;

interface TokenOptions {
  dashboard: string;
  validity?: string;
  workspace?: string;
}

export function embedTokenCommand(cli: CliContext): Command {
  return reportingCommand('embed-token')
    .requiredOption('--dashboard <id>', 'the dashboard to embed')
    .option('--validity <seconds>', "requested lifetime of the token (default: the service's, one hour)")
    .option('--workspace <id>', 'the workspace; may be left out when only one is configured')
    .addHelpText(
      'after',
      examples(
        'usage-ledger embed-token --dashboard d-123',
        'usage-ledger embed-token --dashboard d-123 --validity 600 --workspace ws-123 --json',
      ),
    )
    .action((options: TokenOptions) => cli.withContext((context) => generateToken(cli, context, options)));
}

async function generateToken(cli: CliContext, context: Context, options: TokenOptions): Promise<void> {
  const { dashboard: dashboardId, validity } = options;
  if (dashboardId.trim() === '') throw new UsageError('--dashboard is empty', 'give --dashboard the id of a dashboard');
  const workspace = chooseWorkspace(context.config, options.workspace);
  const validitySeconds =
    validity === undefined ? undefined : parseWholeNumber(validity, '--validity', 1, LONGEST_VALIDITY_SECONDS);
  const { token, expires_at } = await withStopSignal(async (signal) =>
    (await context.client(workspace)).generateEmbedToken({ dashboardId, validitySeconds }, { signal }),
  );
  cli.answer({ token, expires_at }, [`token    ${inertText(token)}`, `expires  ${inertText(expires_at)}`]);
}
