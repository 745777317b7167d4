import { UsageError } from '../../core/errors.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
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
        const { elsewhere = false, by = systemUser() } = options;
        const note = requireNote(options.note, 'end');
        const writer = await context.existingWriter();
        const request = { workspaceId: id, note, elsewhere, by, nowMs: cli.now() };
        const { seq, digest, notifications, checkpointFault } = await writer.retireWorkspace(request);
        const action = elsewhere ? 'elsewhere' : 'end';
        cli.printResult({ workspace_id: id, action, link: seq, head_digest: digest, notifications }, [
          `${inertText(id)} ended: this ledger no longer reads it, and keeps its history`,
          notificationWords(notifications, elsewhere),
          `head digest ${digest}`,
        ]);
        cli.noteCheckpoint(checkpointFault);
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
        const note = requireNote(options.note, 'resume');
        const writer = await context.existingWriter();
        const request = { workspaceId: id, note, by: options.by ?? systemUser(), nowMs: cli.now() };
        const { seq, digest, checkpointFault } = await writer.resumeWorkspace(request);
        cli.printResult({ workspace_id: id, action: 'resume', link: seq, head_digest: digest, notifications: 0 }, [
          `${inertText(id)} resumed: this ledger reads it again from its next run`,
          `head digest ${digest}`,
        ]);
        cli.noteCheckpoint(checkpointFault);
      }),
    );
}

function requireNote(note: string | undefined, command: string): string {
  if (note?.trim()) return note;
  throw new UsageError(`${command} needs --note`, 'add a reason, such as --note "contract ended in October"');
}
