import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { endWorkspace, resumeWorkspace } from '../../operations/workspaces/end-workspace.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { BY_OPTION } from '../shared/options.ts';

export function workspaceCommand(cli: CliContext): CliCommand {
  return new CliCommand('workspace')
    .addCommand(endCommand(cli))
    .addCommand(resumeWorkspaceCommand(cli))
    .examples(
      'usage-ledger workspace end ws-123 --note "contract ended in October"',
      'usage-ledger workspace end ws-123 --elsewhere --note "machine B reads it"',
    );
}

interface EndOptions {
  note?: string;
  elsewhere?: boolean;
  by?: string;
}

function endCommand(cli: CliContext): CliCommand {
  return reportingCommand('end')
    .description('Stop reading a workspace. Its history is kept.')
    .argument('<id>', 'the workspace')
    .option('--note <text>', 'reason (required)')
    .option('--elsewhere', 'another ledger continues with it: send no notifications from here')
    .option(...BY_OPTION)
    .examples('usage-ledger workspace end ws-123 --note "contract ended in October"')
    .action((id: string, options: EndOptions) =>
      cli.withContext(async (context) => {
        const { elsewhere = false, note = '' } = options;
        const { document, notes } = await endWorkspace.run(scopeOf(context, options), {
          workspace: id,
          note,
          elsewhere,
        });
        cli.printResult(document, [
          `${inertText(id)} ended: this ledger no longer reads it, and keeps its history`,
          notificationWords(document.notifications, elsewhere),
          `head digest ${document.head_digest}`,
        ]);
        cli.noteAll(notes);
      }),
    );
}

function notificationWords(notifications: number, elsewhere: boolean): string {
  if (elsewhere) return `no notifications from here; ${counted(notifications, 'waiting notification')} cancelled`;
  return notifications === 0
    ? 'no notifications: none of its open alerts had been sent'
    : `open alerts closed: ${counted(notifications, 'notification goes', 'notifications go')} to the channels that received them`;
}

function resumeWorkspaceCommand(cli: CliContext): CliCommand {
  return reportingCommand('resume')
    .description('Resume reading an ended workspace.')
    .argument('<id>', 'the workspace')
    .option('--note <text>', 'reason (required)')
    .option(...BY_OPTION)
    .examples('usage-ledger workspace resume ws-123 --note "ended by mistake"')
    .action((id: string, options: EndOptions) =>
      cli.withContext(async (context) => {
        const input = { workspace: id, note: options.note ?? '' };
        const { document, notes } = await resumeWorkspace.run(scopeOf(context, options), input);
        cli.printResult(document, [
          `${inertText(id)} resumed: this ledger reads it again from its next run`,
          `head digest ${document.head_digest}`,
        ]);
        cli.noteAll(notes);
      }),
    );
}
