import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { addLine } from '../../operations/lines/add-line.ts';
import type { LineRecord } from '../../operations/lines/line-record.ts';
import { LINE_COLUMNS, listLines } from '../../operations/lines/list-lines.ts';
import { revokeLine } from '../../operations/lines/revoke-line.ts';
import { ALL_ROWS } from '../../operations/operation.ts';
import { formatDecimal } from '../../reports/formats/columns.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { BY_OPTION, firstRows, LIMIT_OPTION, printRows } from '../shared/options.ts';

export function linesCommand(cli: CliContext): CliCommand {
  return new CliCommand('lines')
    .addCommand(addCommand(cli))
    .addCommand(listLinesCommand(cli))
    .addCommand(revokeCommand(cli))
    .examples(
      'usage-ledger lines add --tenant acme --period 2026-02 --amount -12.50 --currency EUR --reason "goodwill"',
      'usage-ledger lines list --period 2026-02',
    );
}

interface AddOptions {
  workspace?: string;
  tenant: string;
  period: string;
  amount: string;
  currency: string;
  reason: string;
  by?: string;
}

function addCommand(cli: CliContext): CliCommand {
  return reportingCommand('add')
    .description("Add an amount to a tenant's charges of a month, such as a credit note or a fee.")
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .requiredOption('--tenant <id>', 'the tenant')
    .requiredOption('--period <period>', 'the month, YYYY-MM; a closed month gets a correction')
    .requiredOption('--amount <amount>', 'such as 49.00, or -12.50 for a credit')
    .requiredOption('--currency <code>', 'an ISO 4217 code, such as EUR')
    .requiredOption('--reason <text>', "reason; printed on the tenant's statement")
    .option(...BY_OPTION)
    .examples(
      'usage-ledger lines add --tenant acme --period 2026-02 --amount -12.50 --currency EUR --reason "goodwill" --by "Ada"',
    )
    .action((options: AddOptions) =>
      cli.withContext(async (context) => {
        const { by, ...line } = options;
        const input = { ...line, period: parsePeriod(line.period, '--period') };
        const { document, notes } = await addLine.run(scopeOf(context, { by }), input);
        printLine(cli, document, 'added');
        cli.noteAll(notes);
      }),
    );
}

function revokeCommand(cli: CliContext): CliCommand {
  return reportingCommand('revoke')
    .description('Revoke a manual line. An estimate loses it; a closed month gets a correction.')
    .argument('<line>', 'its number in `lines list`')
    .requiredOption('--reason <text>', 'reason; not shown to the tenant')
    .option(...BY_OPTION)
    .examples('usage-ledger lines revoke 3 --reason "meant for globex"')
    .action((text: string, options: { reason: string; by?: string }) =>
      cli.withContext(async (context) => {
        const input = { line_id: parseLineNumber(text), reason: options.reason };
        const { document, notes } = await revokeLine.run(scopeOf(context, options), input);
        printLine(cli, document, 'revoked');
        cli.noteAll(notes);
      }),
    );
}

function parseLineNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`${JSON.stringify(text)} is not a line number`, 'give a number from `usage-ledger lines list`');
}

function printLine(cli: CliContext, line: LineRecord, action: string): void {
  const { line_id: lineId, tenant_id: tenantId, period, amount, currency, reason, booked_period: booked } = line;
  const sum = `${formatDecimal(amount)} ${currency}`;
  cli.printResult(line, [
    `line ${lineId} ${action}: ${sum} for ${inertText(tenantId)} in ${period}, ${inertText(reason)}`,
    booked === null ? null : `  ${period} is closed: booked as a correction in ${booked}`,
    `head digest ${line.digest}`,
  ]);
}

interface LineListOptions {
  workspace?: string;
  tenant?: string;
  period?: string;
  limit?: number;
}

function listLinesCommand(cli: CliContext): CliCommand {
  return reportingCommand('list')
    .description('List manual lines, including revoked ones.')
    .option('--workspace <id>', 'only this workspace')
    .option('--tenant <id>', 'only this tenant')
    .option('--period <period>', 'only this month, YYYY-MM')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger lines list --period 2026-02 --json')
    .action(({ workspace, tenant, period, limit }: LineListOptions) =>
      cli.withContext((context) => {
        const month = period === undefined ? undefined : parsePeriod(period, '--period');
        const input = { workspace, tenant, period: month };
        const rows = [...listLines.run(scopeOf(context), input, ALL_ROWS).rows];
        if (rows.length === 0) cli.note('no manual line matches');
        return printRows(cli, firstRows(cli, rows, limit), LINE_COLUMNS);
      }),
    );
}
