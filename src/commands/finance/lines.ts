import { UsageError } from '../../core/errors.ts';
import { formatMinor, isCurrency, parseMinor } from '../../core/money.ts';
import { parsePeriod } from '../../core/period.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import { LARGEST_LINE, type LineReport } from '../../ledger/journal/charges/manual-lines.ts';
import { LINE_COLUMNS, listLines } from '../../operations/lines/list-lines.ts';
import { ALL_ROWS } from '../../operations/operation.ts';
import { chooseWorkspace } from '../../operations/workspace-choice.ts';
import { formatDecimal } from '../../reports/formats/columns.ts';
import type { Recorded } from '../../writer/session.ts';
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

/** Maximum characters of a reason, which is printed on the statement. */
const MAX_REASON_CHARACTERS = 200;

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
        const { tenant: tenantId, currency, by = systemUser() } = options;
        const { id: workspaceId } = chooseWorkspace(context.config, options.workspace);
        const period = parsePeriod(options.period, '--period');
        const amountMinor = parseLineAmount(options);
        const reason = reasonOf(options.reason);
        const writer = await context.existingWriter();
        const nowMs = context.clock.now();
        const line = { workspaceId, tenantId, period, amountMinor, currency, reason, by, nowMs };
        const report = await writer.addLine(line);
        printLine(cli, report, 'added');
        const priced = creditPricer(context.reader().connection, workspaceId)(tenantId, period, 0n);
        if (priced === null || priced.currency === currency || cli.json) return;
        cli.note(`The tenant's rate card is in ${priced.currency}: the statement has a separate total in ${currency}.`);
      }),
    );
}

function parseLineAmount({ amount, currency }: AddOptions): bigint {
  if (!isCurrency(currency)) {
    throw new UsageError(
      `--currency ${JSON.stringify(currency)} is not an ISO 4217 code`,
      'give a currency such as EUR',
    );
  }
  const minor = parseMinor(amount, currency);
  if (minor !== null && minor !== 0n && minor <= LARGEST_LINE && minor >= -LARGEST_LINE) return minor;
  throw new UsageError(
    `--amount ${JSON.stringify(amount)} is not an amount in ${currency}`,
    `give a plain decimal other than 0, with the decimals of the currency, up to ${formatMinor(LARGEST_LINE, currency)}`,
  );
}

function reasonOf(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= MAX_REASON_CHARACTERS) return reason;
  throw new UsageError(
    `--reason has ${reason.length} characters`,
    `give a reason of 1 to ${MAX_REASON_CHARACTERS} characters: the tenant and auditors read it`,
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
        if (!/^\d{1,15}$/.test(text))
          throw new UsageError(
            `${JSON.stringify(text)} is not a line number`,
            'give a number from `usage-ledger lines list`',
          );
        const reason = reasonOf(options.reason);
        const writer = await context.existingWriter();
        const { by = systemUser() } = options;
        const line = { lineId: Number(text), by, reason, nowMs: context.clock.now() };
        printLine(cli, await writer.revokeLine(line), 'revoked');
      }),
    );
}

function printLine(cli: CliContext, report: LineReport & Recorded, action: string): void {
  const { lineId, tenantId, period, amountMinor, currency, reason, bookedPeriod, digest } = report;
  const amount = formatMinor(amountMinor, currency);
  const record = {
    line_id: lineId,
    tenant_id: tenantId,
    period,
    amount_minor: amountMinor,
    amount,
    currency,
    reason,
    booked_period: bookedPeriod,
    digest,
  };
  const sum = `${formatDecimal(amount)} ${currency}`;
  cli.printResult(record, [
    `line ${lineId} ${action}: ${sum} for ${inertText(tenantId)} in ${period}, ${inertText(reason)}`,
    bookedPeriod === null ? null : `  ${period} is closed: booked as a correction in ${bookedPeriod}`,
    `head digest ${digest}`,
  ]);
  cli.noteCheckpoint(report.checkpointFault);
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
