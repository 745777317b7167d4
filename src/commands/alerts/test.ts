import type { Command } from 'commander';
import type { DeliveryResult } from '../../alerts/channels/channel.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { TestReport } from '../../wiring/post.ts';
import { type CliContext, EXIT, examples, reportingCommand } from '../shared/cli-context.ts';
import { withStopSignal } from '../shared/stop-signal.ts';

export function testCommand(cli: CliContext): Command {
  return reportingCommand('test')
    .description('Send a message that is marked as a test through one channel, now, and show the answer.')
    .argument('<channel>', 'the name of the channel')
    .addHelpText('after', examples('usage-ledger alerts test on-call', 'usage-ledger alerts test slack-2 --json'))
    .action((channel: string) =>
      cli.withContext((context) => withStopSignal(async (signal) => report(cli, await context.test(channel, signal)))),
    );
}

function report(cli: CliContext, { channel, type, notificationId, latencyMs, result }: TestReport): void {
  const { answer, remedy } = inWords(result);
  if (result.outcome !== 'delivered') cli.exitCode = EXIT.failed;
  const { outcome } = result;
  const how = outcome === 'delivered' ? 'delivered' : 'not delivered';
  cli.answer({ channel, type, notification_id: notificationId, outcome, answer, latency_ms: latencyMs, remedy }, [
    `${inertText(channel)} (${type}): ${how} in ${latencyMs} ms: ${inertText(answer)}`,
    remedy === null ? null : `  ${remedy}`,
  ]);
}

/** What the other side said and what to do about it. */
function inWords(result: DeliveryResult): { answer: string; remedy: string | null } {
  switch (result.outcome) {
    case 'delivered':
      return { answer: result.detail, remedy: null };
    case 'retry':
      return {
        answer: result.reason,
        remedy: 'A notification would be tried again for three days; check that the receiver is up and can be reached',
      };
    case 'rejected':
    case 'too_large':
      return {
        answer: result.reason,
        remedy: "A notification would be given up; correct the channel's settings, then test again",
      };
    case 'disabled':
      return {
        answer: result.reason,
        remedy: 'A notification would disable the channel; give the channel a new address, or remove it',
      };
    case 'cancelled':
      return { answer: 'stopped before an answer came', remedy: null };
  }
}
