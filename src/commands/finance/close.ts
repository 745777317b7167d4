import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { type CloseOutcome, closeMonth, closeMonths } from '../../operations/months/close-month.ts';
import type { PeriodEventRecord } from '../../operations/months/period-event.ts';
import { reopenMonth } from '../../operations/months/reopen-month.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, printProse, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { BY_OPTION } from '../shared/options.ts';

interface ReopenOptions {
  workspace?: string;
  by?: string;
  note?: string;
}

interface CloseOptions extends ReopenOptions {
  all?: boolean;
  force?: boolean;
  acceptChange?: string[];
}

export function closeCommand(cli: CliContext): CliCommand {
  return reportingCommand('close')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .option('--all', 'every workspace that `month-end` reports as ready; exit code 3 when some are blocked')
    .option(...BY_OPTION)
    .option('--note <text>', 'why, or a reference', '')
    .option(
      '--accept-change <id...>',
      'close these workspaces even if the change exceeds close.max_change; needs --note',
    )
    .option('--force', 'close despite blockers, which are recorded')
    .examples(
      'usage-ledger close 2026-02 --workspace ws-123 --by "Ada Byron" --note "invoice run 12"',
      'usage-ledger close 2026-02 --all --note "invoice run 12" --accept-change ws-123',
    )
    .action((text: string, options: CloseOptions) =>
      cli.withContext((context) => {
        const period = parsePeriod(text);
        return options.all === true ? closeAll(cli, context, period, options) : closeOne(cli, context, period, options);
      }),
    );
}

async function closeOne(cli: CliContext, context: Context, period: string, options: CloseOptions): Promise<void> {
  const { workspace, note, force, acceptChange } = options;
  const input = { period, workspace, note, force, accept_change: acceptChange };
  const { document, notes } = await closeMonth.run(scopeOf(context, options), input);
  cli.printResult(document, eventLines(document));
  cli.noteAll(notes);
}

async function closeAll(cli: CliContext, context: Context, period: string, options: CloseOptions): Promise<void> {
  if (options.force === true || options.workspace !== undefined) {
    throw new UsageError('--all cannot be combined with --force or --workspace', 'force workspaces one at a time');
  }
  const input = { period, note: options.note, accept_change: options.acceptChange };
  const { document, notes } = await closeMonths.run(scopeOf(context, options), input);
  const { workspaces, refused } = document;
  const count = (wanted: CloseOutcome['result']) => workspaces.filter(({ result }) => result === wanted).length;
  if (refused > 0) cli.exitCode = refused === workspaces.length ? EXIT.failed : EXIT.partial;
  if (!cli.json) {
    for (const line of workspaces.flatMap((outcome) => outcomeLines(outcome, period))) printProse(cli, line, 2);
  }
  const before = count('closed_already');
  const already = before === 0 ? '' : `${formatInteger(before)} already closed, `;
  cli.printResult(document, [
    `${counted(count('closed'), 'workspace')} closed, ${already}${formatInteger(refused)} not closed`,
  ]);
  cli.noteAll(notes);
}

function outcomeLines(outcome: CloseOutcome, period: string): string[] {
  switch (outcome.result) {
    case 'closed':
      return eventLines(outcome).filter((line) => line !== null);
    case 'closed_already':
      return [];
    case 'refused':
      return [
        `${inertText(outcome.workspace_id)}, ${period}: NOT closed:`,
        ...outcome.reasons.flatMap(({ reason, command }) => [
          `  - ${inertText(reason)}`,
          ...(command === null ? [] : [`    $ ${inertText(command)}`]),
        ]),
      ];
  }
}

export function reopenCommand(cli: CliContext): CliCommand {
  return reportingCommand('reopen')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .option(...BY_OPTION)
    .option('--note <text>', 'reason (required)')
    .examples('usage-ledger reopen 2026-02 --by "Ada Byron" --note "credit note for acme was missing"')
    .action((text: string, options: ReopenOptions) =>
      cli.withContext(async (context) => {
        const input = { period: parsePeriod(text), workspace: options.workspace, note: options.note ?? '' };
        const { document, notes } = await reopenMonth.run(scopeOf(context, options), input);
        cli.printResult(document, eventLines(document));
        cli.noteAll(notes);
      }),
    );
}

function eventLines({ action, period, workspace_id: workspaceId, ...event }: PeriodEventRecord): (string | null)[] {
  const { tenants, credits_used: credits, request_count: requests, reversed_adjustments: reversed } = event;
  const figures = [counted(tenants, 'tenant'), counted(credits, 'credit'), counted(requests, 'request')].join(', ');
  const where = `${inertText(workspaceId)}, ${period}`;
  return [
    action === 'close' ? `${where}: closed with ${figures}` : `${where}: reopened; it was closed with ${figures}`,
    ...event.overridden.map((reason) => `  despite: ${reason}`),
    reversed === 0 ? null : `  ${counted(reversed, 'adjustment')} reversed`,
    `head digest ${event.digest}`,
  ];
}
