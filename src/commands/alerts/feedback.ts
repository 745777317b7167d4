import { Argument } from 'commander';
import { alertMoments } from '../../alerts/queries/alert-moments.ts';
import { alertRecord } from '../../alerts/queries/alert-record.ts';
import { FEEDBACK_LABELS, type FeedbackLabel } from '../../alerts/track/feedback.ts';
import { muteCommand } from '../../alerts/wording/next-commands.ts';
import { quietSetting } from '../../alerts/wording/quiet-setting.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { BY_OPTION } from '../shared/options.ts';

export function feedbackCommand(cli: CliContext): CliCommand {
  return reportingCommand('feedback')
    .description('Say what an alert was: real, expected (known before) or false. The last word counts.')
    .argument('<id>', 'an alert, or a message (msg_...) about several')
    .addArgument(new Argument('<label>', 'what it was').choices(FEEDBACK_LABELS))
    .option('--note <text>', 'what is known')
    .option(...BY_OPTION)
    .examples(
      'usage-ledger alerts feedback alert_64740e88a27593a234fc real',
      'usage-ledger alerts feedback alert_64740e88a27593a234fc expected --note "launch of their shop"',
    )
    .action((id: string, label: FeedbackLabel, options: { note?: string; by?: string }) =>
      cli.withContext(async (context) => {
        const writer = await context.existingWriter();
        const by = options.by ?? systemUser();
        const nowMs = context.clock.now();
        const alerts = await writer.call('recordFeedback', {
          alertId: id,
          label,
          note: options.note ?? null,
          by,
          nowMs,
        });
        if (id.startsWith('msg_')) {
          const words = `${counted(alerts.length, 'alert')} of ${inertText(id)} were ${label}, says ${inertText(by)}`;
          cli.answer({ notification_id: id, label, by, alerts }, [words]);
          return;
        }
        const { connection } = context.reader();
        const { notification } = alertMoments(connection)(alertRecord(connection, id).alert).now;
        const mute = label === 'expected' ? muteCommand(notification, nowMs) : null;
        const setting = label === 'false' ? quietSetting(notification) : null;
        const quiet = setting === null ? '' : indented(setting);
        cli.answer({ alert_id: id, label, by, would_have_muted: mute, setting }, [
          `${id} was ${label}, says ${inertText(by)}`,
          setting === null
            ? null
            : `  to keep the like of it quiet, write below \`alerts:\` of its workspace:\n${quiet}`,
          mute === null ? null : `  to have it muted until then:\n  ${mute}`,
        ]);
      }),
    );
}

function indented(lines: string): string {
  return lines
    .split('\n')
    .map((line) => `    ${inertText(line)}`)
    .join('\n');
}
