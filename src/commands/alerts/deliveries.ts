import type { DeliveryResult } from '../../alerts/channels/channel.ts';
import { type DeadLetter, deadLetters } from '../../alerts/notify/replay.ts';
import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { type Column, relativeTime } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import type { Context } from '../../wiring/context.ts';
import type { TestReport } from '../../wiring/post.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand } from '../shared/cli-context.ts';
import { withStopSignal } from '../shared/stop-signal.ts';

export function testCommand(cli: CliContext): CliCommand {
  return reportingCommand('test')
    .description('Send a test message through one channel and show the answer.')
    .argument('<channel>', 'the name of the channel')
    .examples('usage-ledger alerts test on-call')
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

export function replayCommand(cli: CliContext): CliCommand {
  return reportingCommand('replay')
    .description('Send again, as it is now, what could not be delivered. Without arguments: list it.')
    .argument('[id...]', 'messages, msg_...')
    .option('--all-dead', 'all of it, and what waits for its next try')
    .examples('usage-ledger alerts replay msg_5f0c3b6a9d2e', 'usage-ledger alerts replay --all-dead')
    .action((ids: string[], { allDead }: { allDead?: boolean }) =>
      cli.withContext((context) => {
        if (ids.length > 0 && allDead === true) {
          throw new UsageError('both ids and --all-dead are given', 'give one of the two');
        }
        if (ids.length === 0 && allDead !== true) return listDead(cli, context);
        return replay(cli, context, allDead === true ? null : ids);
      }),
    );
}

function listDead(cli: CliContext, context: Context): void {
  const dead = deadLetters(context.reader().connection);
  if (cli.json) cli.printJson({ dead });
  else if (dead.length === 0) cli.note('no message was given up');
  else cli.print(renderTable(dead, deadColumns(context.clock.now()), cli.tableOptions));
}

async function replay(cli: CliContext, context: Context, notificationIds: string[] | null): Promise<void> {
  // Only a ledger that is there has anything to replay; the writer would make an empty one.
  context.reader();
  const writer = await context.writer();
  const report = await writer.call('replayDead', { notificationIds, nowMs: context.clock.now() });
  const due = counted(report.replayed.length, 'notification is due again', 'notifications are due again');
  const dropped = counted(report.dropped.length, 'more', 'more');
  const retried = counted(report.retried, 'alert', 'alerts');
  cli.answer(report, [
    `${due}; the running daemon sends what is due`,
    report.retried === 0 ? null : `  ${retried} that a channel had refused no longer waits for the next try`,
    report.dropped.length === 0 ? null : `  of ${dropped} nothing is left to say: it is over, or was told since`,
    ...report.enabled.map((name) => `  channel ${inertText(name)} is enabled again`),
    ...report.without_channel.map(
      ({ notification_id, channel }) =>
        `  ${notification_id} stays dead: channel ${inertText(channel)} is not configured`,
    ),
  ]);
}

function deadColumns(nowMs: number): Column<DeadLetter>[] {
  return [
    { name: 'notification_id', kind: 'id', header: 'Notification' },
    { name: 'channel', kind: 'text', header: 'Channel' },
    { name: 'attempts', kind: 'count', header: 'Attempts' },
    { name: 'created_at', kind: 'date', header: 'Created', words: (at) => relativeTime(Date.parse(at), nowMs) },
    { name: 'last_error', kind: 'text', header: 'Reason' },
  ];
}
