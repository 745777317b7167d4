import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { PeriodEvent } from '../../ledger/journal/close/close-period.ts';
import { type SkippedMonth, skippedMonths, skippedWords } from '../../ledger/journal/close/skipped-months.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import { chooseWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';

interface CloseOptions {
  workspace?: string;
  by?: string;
  note?: string;
  force?: boolean;
}

export function closeCommand(cli: CliContext): Command {
  return reportingCommand('close')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--by <name>', 'who closes (default: the user of this shell)')
    .option('--note <text>', 'why, or a reference', '')
    .option('--force', 'close in spite of the reasons against it; that is recorded')
    .addHelpText(
      'after',
      examples(
        'usage-ledger close 2026-02',
        'usage-ledger close 2026-02 --workspace ws-123 --by "Ada Byron" --note "invoice run 12"',
      ),
    )
    .action((text: string, options: CloseOptions) =>
      cli.withContext(async (context) => {
        const workspace = chooseWorkspace(context.config, options.workspace);
        const writer = await context.existingWriter();
        const event = await writer.call('closePeriod', {
          workspaceId: workspace.id,
          period: parsePeriod(text),
          by: options.by ?? systemUser(),
          note: options.note ?? '',
          force: options.force === true,
          settleHours: workspace.settleHours,
          nowMs: context.clock.now(),
        });
        report(cli, event);
        const ofWorkspace = (month: SkippedMonth) => month.workspaceId === workspace.id;
        const skipped = skippedWords(skippedMonths(context.reader().connection).filter(ofWorkspace));
        if (skipped !== null) cli.note(`${skipped}.`);
      }),
    );
}

export function reopenCommand(cli: CliContext): Command {
  return reportingCommand('reopen')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--by <name>', 'who reopens (default: the user of this shell)')
    .option('--note <text>', 'why (needed)')
    .addHelpText(
      'after',
      examples('usage-ledger reopen 2026-02 --by "Ada Byron" --note "credit note for acme was missing"'),
    )
    .action((text: string, options: CloseOptions) =>
      cli.withContext(async (context) => {
        const { by = systemUser(), note } = options;
        if (!by.trim() || !note?.trim()) {
          throw new UsageError('reopen needs --note', 'say why the period is reopened: auditors will ask');
        }
        const workspace = chooseWorkspace(context.config, options.workspace);
        const writer = await context.existingWriter();
        const request = { workspaceId: workspace.id, period: parsePeriod(text), by, note, nowMs: context.clock.now() };
        report(cli, await writer.call('reopenPeriod', request));
      }),
    );
}

function report(cli: CliContext, event: PeriodEvent & { checkpointFault: string | null }): void {
  if (cli.json) {
    cli.printJson({
      action: event.action,
      workspace_id: event.workspaceId,
      period: event.period,
      at: event.at,
      tenants: event.tenants,
      credits_used: event.creditsUsed,
      request_count: event.requestCount,
      overridden: event.overridden,
      reversed_adjustments: event.reversed,
      event_seq: event.eventSeq,
      digest: event.digest,
    });
    return;
  }
  const figures =
    `${formatInteger(event.tenants)} tenants, ${formatInteger(event.creditsUsed)} credits, ` +
    `${formatInteger(event.requestCount)} requests`;
  const where = `${event.period} of ${inertText(event.workspaceId)}`;
  if (event.action === 'close') {
    cli.print(`${where} is closed: ${figures}`);
    for (const reason of event.overridden) cli.print(`  forced although ${reason}`);
  } else {
    cli.print(`${where} is open again; it had been closed with ${figures}`);
    if (event.reversed > 0) cli.print(`  ${formatInteger(event.reversed)} adjustments were taken back`);
  }
  cli.print(`head digest ${event.digest}`);
  if (event.checkpointFault !== null) cli.note(`No checkpoint of the head could be written: ${event.checkpointFault}`);
}
