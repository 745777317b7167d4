import { UsageError } from '../../core/errors.ts';
import { formatMinor, isCurrency, parseMinor } from '../../core/money.ts';
import { type Period, parsePeriod } from '../../core/period.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import { LARGEST_LINE, type LineReport } from '../../ledger/journal/charges/manual-lines.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { whereClause } from '../../ledger/store/where.ts';
import { type Column, formatDecimal } from '../../reports/formats/columns.ts';
import type { Recorded } from '../../writer/session.ts';
import { chooseWorkspace, requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { BY_OPTION, firstRows, LIMIT_OPTION, putRows } from '../shared/options.ts';

export function linesCommand(cli: CliContext): CliCommand {
  return new CliCommand('lines')
    .addCommand(addCommand(cli))
    .addCommand(listCommand(cli))
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

/** Characters of a reason: it stands on the statement. */
const LONGEST_REASON = 200;

function addCommand(cli: CliContext): CliCommand {
  return reportingCommand('add')
    .description('Add an amount to what a tenant is to pay for a month, such as a credit note or a fee.')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .requiredOption('--tenant <id>', 'the tenant')
    .requiredOption('--period <period>', 'the month, YYYY-MM; of a closed one it is booked as a correction')
    .requiredOption('--amount <amount>', 'such as 49.00, or -12.50 to give back')
    .requiredOption('--currency <code>', 'a code of ISO 4217, such as EUR')
    .requiredOption('--reason <text>', 'why; the tenant reads it on its statement')
    .option(...BY_OPTION)
    .examples(
      'usage-ledger lines add --tenant acme --period 2026-02 --amount -12.50 --currency EUR --reason "goodwill" --by "Ada"',
    )
    .action((options: AddOptions) =>
      cli.withContext(async (context) => {
        const { tenant: tenantId, currency, by = systemUser() } = options;
        const { id: workspaceId } = chooseWorkspace(context.config, options.workspace);
        const period = parsePeriod(options.period, '--period');
        const amountMinor = amountOf(options);
        const reason = reasonOf(options.reason);
        const writer = await context.existingWriter();
        const nowMs = context.clock.now();
        const line = { workspaceId, tenantId, period, amountMinor, currency, reason, by, nowMs };
        const report = await writer.addLine(line);
        putReport(cli, report, 'is added');
        const priced = creditPricer(context.reader().connection, workspaceId)(tenantId, period, 0n);
        if (priced === null || priced.currency === currency || cli.json) return;
        cli.note(`Its rate card is in ${priced.currency}: the statement has a total of its own in ${currency}.`);
      }),
    );
}

function amountOf({ amount, currency }: AddOptions): bigint {
  if (!isCurrency(currency)) {
    throw new UsageError(
      `--currency ${JSON.stringify(currency)} is not a currency of ISO 4217`,
      'write it such as EUR',
    );
  }
  const minor = parseMinor(amount, currency);
  if (minor !== null && minor !== 0n && minor <= LARGEST_LINE && minor >= -LARGEST_LINE) return minor;
  throw new UsageError(
    `--amount ${JSON.stringify(amount)} is no amount of ${currency}`,
    `write a plain decimal other than 0, no finer than the currency, of at most ${formatMinor(LARGEST_LINE, currency)}`,
  );
}

function reasonOf(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= LONGEST_REASON) return reason;
  throw new UsageError(
    `--reason has ${reason.length} characters`,
    `say why in 1 to ${LONGEST_REASON}: the tenant reads it, and auditors will ask`,
  );
}

function revokeCommand(cli: CliContext): CliCommand {
  return reportingCommand('revoke')
    .description('Take a line back: from an estimate it goes, of a closed month it is booked as a correction.')
    .argument('<line>', 'its number, as `lines list` has it')
    .requiredOption('--reason <text>', 'why; the tenant does not read it')
    .option(...BY_OPTION)
    .examples('usage-ledger lines revoke 3 --reason "meant for globex"')
    .action((text: string, options: { reason: string; by?: string }) =>
      cli.withContext(async (context) => {
        if (!/^\d{1,15}$/.test(text))
          throw new UsageError(`${JSON.stringify(text)} is no number of a line`, 'give one');
        const reason = reasonOf(options.reason);
        const writer = await context.existingWriter();
        const { by = systemUser() } = options;
        const line = { lineId: Number(text), by, reason, nowMs: context.clock.now() };
        putReport(cli, await writer.revokeLine(line), 'is revoked');
      }),
    );
}

function putReport(cli: CliContext, report: LineReport & Recorded, what: string): void {
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
  cli.answer(record, [
    `line ${lineId} ${what}: ${sum} for ${inertText(tenantId)} in ${period}, ${inertText(reason)}`,
    bookedPeriod === null ? null : `  ${period} is closed: it is booked as a correction in ${bookedPeriod}`,
    `head digest ${digest}`,
  ]);
  cli.noteCheckpoint(report.checkpointFault);
}

const LINE_COLUMNS: readonly Column<ManualLineRow>[] = [
  { name: 'line_id', kind: 'count', header: 'Line' },
  { name: 'workspace_id', kind: 'id', header: 'Workspace' },
  { name: 'period', kind: 'text', header: 'Month' },
  { name: 'tenant_id', kind: 'id', header: 'Tenant' },
  { name: 'amount', kind: 'amount', header: 'Amount' },
  { name: 'currency', kind: 'text', header: '' },
  { name: 'reason', kind: 'text', header: 'Reason' },
  { name: 'actor', kind: 'text', header: 'By' },
  { name: 'recorded_at', kind: 'date' },
  { name: 'revoked_at', kind: 'date', header: 'Revoked' },
  { name: 'revoked_by', kind: 'text' },
  { name: 'revoked_because', kind: 'text' },
];

interface LineListOptions {
  workspace?: string;
  tenant?: string;
  period?: string;
  limit?: number;
}

function listCommand(cli: CliContext): CliCommand {
  return reportingCommand('list')
    .description('The lines by hand of the ledger, revoked ones too.')
    .option('--workspace <id>', 'only this workspace')
    .option('--tenant <id>', 'only this tenant')
    .option('--period <period>', 'only this month, YYYY-MM')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger lines list --period 2026-02 --json')
    .action(({ workspace, tenant, period, limit }: LineListOptions) =>
      cli.withContext((context) => {
        requireKnownWorkspace(context, workspace);
        const rows = manualLines(context.reader().connection, {
          workspaceId: workspace,
          tenantId: tenant,
          period: period === undefined ? undefined : parsePeriod(period, '--period'),
        });
        if (rows.length === 0) cli.note('the ledger has no line by hand that fits');
        return putRows(cli, firstRows(cli, rows, limit), LINE_COLUMNS);
      }),
    );
}

interface ManualLineRow {
  line_id: bigint;
  workspace_id: string;
  period: Period;
  tenant_id: string;
  amount: string;
  currency: string;
  reason: string;
  actor: string;
  recorded_at: string;
  revoked_at: string | null;
  revoked_by: string | null;
  revoked_because: string | null;
}

function manualLines(
  connection: LedgerDb,
  wanted: { workspaceId?: string | undefined; tenantId?: string | undefined; period?: Period | undefined },
): ManualLineRow[] {
  const { workspaceId, tenantId, period } = wanted;
  const { where, values } = whereClause({ workspace_id: workspaceId, tenant_id: tenantId, period });
  return connection
    .prepare(
      `SELECT line_id, workspace_id, period, tenant_id, amount, currency, reason, actor, recorded_at, revoked_at, revoked_by,
         revoked_because
       FROM finance_lines ${where} ORDER BY line_id`,
    )
    .safeIntegers()
    .all(...values) as ManualLineRow[];
}
