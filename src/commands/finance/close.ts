import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { PeriodEvent } from '../../ledger/journal/close/close-period.ts';
import { type SkippedMonth, skippedMonths, skippedWords } from '../../ledger/journal/close/closes-in-force.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import { chooseWorkspace } from '../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';

interface CloseOptions {
  workspace?: string;
  by?: string;
  note?: string;
  force?: boolean;
}

export function closeCommand(cli: CliContext): CliCommand {
  return reportingCommand('close')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--by <name>', 'who closes (default: the user of this shell)')
    .option('--note <text>', 'why, or a reference', '')
    .option('--force', 'close in spite of the reasons against it; that is recorded')
    .examples(
      'usage-ledger close 2026-02',
      'usage-ledger close 2026-02 --workspace ws-123 --by "Ada Byron" --note "invoice run 12"',
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

export function reopenCommand(cli: CliContext): CliCommand {
  return reportingCommand('reopen')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--by <name>', 'who reopens (default: the user of this shell)')
    .option('--note <text>', 'why (needed)')
    .examples('usage-ledger reopen 2026-02 --by "Ada Byron" --note "credit note for acme was missing"')
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
  const { action, period, at, tenants, creditsUsed, requestCount, overridden, reversed, eventSeq, digest } = event;
  const record = {
    action,
    workspace_id: event.workspaceId,
    period,
    at,
    tenants,
    credits_used: creditsUsed,
    request_count: requestCount,
    overridden,
    reversed_adjustments: reversed,
    event_seq: eventSeq,
    digest,
  };
  const figures =
    `${formatInteger(tenants)} tenants, ${formatInteger(creditsUsed)} credits, ` +
    `${formatInteger(requestCount)} requests`;
  const where = `${period} of ${inertText(event.workspaceId)}`;
  cli.answer(record, [
    action === 'close'
      ? `${where} is closed: ${figures}`
      : `${where} is open again; it had been closed with ${figures}`,
    ...overridden.map((reason) => `  forced although ${reason}`),
    reversed === 0 ? null : `  ${formatInteger(reversed)} adjustments were taken back`,
    `head digest ${digest}`,
  ]);
  if (event.checkpointFault !== null && !cli.json)
    cli.note(`No checkpoint of the head could be written: ${event.checkpointFault}`);
}
