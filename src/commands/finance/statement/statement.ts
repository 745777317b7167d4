import { Option } from 'commander';
import { type StatementDocument, statementForTenant } from '../../../billing/statement/document.ts';
import { UsageError } from '../../../core/errors.ts';
import { parsePeriod } from '../../../core/period.ts';
import { keepYoungGenerationSmall } from '../../../core/process/memory.ts';
import { inertText } from '../../../core/text/inert-text.ts';
import { type StatementStream, streamStatement } from '../../../ledger/journal/charges/read-statement.ts';
import { formatDecimal, formatInteger, sheetOf } from '../../../reports/formats/columns.ts';
import { documentPieces, renderJson } from '../../../reports/formats/json.ts';
import { renderTable } from '../../../reports/formats/table.ts';
import { PAGE_SCRIPT } from '../../../reports/statement/page-script.ts';
import { projectionWords, STATE_WORDS, statementHtml } from '../../../reports/statement/statement-html.ts';
import { linesOf, STATEMENT_COLUMNS } from '../../../reports/statement/statement-lines.ts';
import { tenantPage } from '../../../reports/statement/tenant-page.ts';
import type { Context } from '../../../wiring/context.ts';
import { chooseWorkspace, unknownPeriod } from '../../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../../shared/cli-context.ts';
import { noteOtherRates } from '../rates.ts';
import {
  addSheetOptions,
  chosenFormat,
  LISTING_FORMATS,
  putPieces,
  putSheet,
  putTable,
  putText,
  type SheetOptions,
} from '../sheet-output.ts';
import { noteNearTenants } from '../unknown-tenant.ts';
import { statementVerifyCommand } from './statement-verify.ts';

interface StatementOptions extends SheetOptions {
  tenant?: string;
  forTenant?: string;
  workspace?: string;
  format?: (typeof FORMATS)[number];
  json?: boolean;
}

const FORMATS = [...LISTING_FORMATS, 'html'] as const;

export function statementCommand(cli: CliContext): CliCommand {
  const command = reportingCommand('statement')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--tenant <id>', 'only this tenant')
    .option('--for-tenant <id>', 'what may be handed to this tenant: nothing of others (json, html or csv)')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .addOption(new Option('--format <format>', 'form of the answer (default: table)').choices(FORMATS));
  return addSheetOptions(command)
    .examples(
      'usage-ledger statement 2026-02',
      'usage-ledger statement 2026-02 --tenant acme --format json > acme.json',
      'usage-ledger statement 2026-02 --for-tenant acme --format html --out acme.html',
      'usage-ledger statement verify acme.json --digest 9d675846...',
      'usage-ledger statement 2026-02 --format html --out february.html',
    )
    .action((text: string, options: StatementOptions) =>
      cli.withContext((context) => showStatement(cli, context, text, options)),
    )
    .addCommand(statementVerifyCommand(cli));
}

async function showStatement(
  cli: CliContext,
  context: Context,
  text: string,
  options: StatementOptions,
): Promise<void> {
  const format = chosenFormat(options, 'table');
  const period = parsePeriod(text);
  const { id: workspaceId } = chooseWorkspace(context.config, options.workspace);
  noteOtherRates(cli, context);
  keepYoungGenerationSmall();
  const { connection } = context.reader();
  const tenantId = options.forTenant ?? options.tenant;
  const proven = format === 'json' || options.forTenant !== undefined;
  const request = { workspaceId, period, tenantId, nowMs: context.clock.now(), proven };
  // One transaction, so that all tenants are of one moment.
  connection.exec('BEGIN');
  try {
    const statement = streamStatement(connection, request);
    if (statement === null) throw unknownPeriod(period, workspaceId);
    if (!(await putStatement(cli, statement, { format, options }))) {
      cli.note('the period has no tenant that fits');
      noteNearTenants(cli, connection, { tenantId, workspaceId });
    }
  } finally {
    connection.exec('ROLLBACK');
  }
}

async function putStatement(
  cli: CliContext,
  { begin, end, tenants }: StatementStream,
  { format, options }: { format: (typeof FORMATS)[number]; options: StatementOptions },
): Promise<boolean> {
  let hasTenants = false;
  const listed = function* () {
    for (const tenant of tenants()) {
      hasTenants = true;
      yield tenant;
    }
  };
  const name = `statement ${begin.period}`;
  if (options.forTenant !== undefined) {
    await showForTenant(cli, { ...begin, tenants: [...listed()], ...end }, { format, options });
  } else if (format === 'json') {
    await putPieces(cli, documentPieces(begin, listed(), { name: 'tenants', tail: end }), options);
  } else if (format === 'html') await putPieces(cli, statementHtml(begin, listed()), options);
  else if (format !== 'table') {
    await putSheet(cli, sheetOf(name, STATEMENT_COLUMNS, linesOf(begin, listed())), { format, options });
  } else if (options.out === undefined) {
    printStatement(cli, { ...begin, tenants: [...listed()], ...end });
  } else await putTable(cli, '', options);
  return hasTenants;
}

async function showForTenant(
  cli: CliContext,
  statement: StatementDocument,
  { format, options }: { format: (typeof FORMATS)[number]; options: StatementOptions },
): Promise<void> {
  if (format !== 'json' && format !== 'html' && format !== 'csv') {
    throw new UsageError('--for-tenant makes json, html or csv', 'name one of these with --format');
  }
  if (options.tenant !== undefined) throw new UsageError('--for-tenant and --tenant exclude each other', 'name one');
  if (statement.tenants.length === 0) return;
  const own = statementForTenant(statement);
  if (format === 'json') await putText(cli, renderJson(own), options);
  else if (format === 'html') await putText(cli, tenantPage(own, PAGE_SCRIPT), options);
  else
    await putSheet(cli, sheetOf(`statement ${own.period}`, STATEMENT_COLUMNS, linesOf(own, own.tenants)), {
      format,
      options,
    });
}

function printStatement(cli: CliContext, statement: StatementDocument): void {
  const { workspace_id, period, state, as_of, certificate, head_digest } = statement;
  cli.print(`${period} of ${inertText(workspace_id)}: ${STATE_WORDS[state]}`);
  cli.print(`as of ${as_of ?? 'never'}${certificate === null ? '' : `, proven by ${certificate.run_id}`}`);
  if (head_digest !== null) cli.print(`${state === 'closed' ? 'close' : 'run'} digest ${head_digest}`);
  cli.print('');
  cli.print(renderTable([...linesOf(statement, statement.tenants)], STATEMENT_COLUMNS, cli.tableOptions));
  cli.print('');
  cli.print(`credits ${formatInteger(statement.credits_used)}`);
  for (const { currency, amount } of statement.totals) cli.print(`total ${formatDecimal(amount)} ${currency}`);
  const projection = projectionWords(statement);
  if (projection !== null) cli.print(`at this rate ${projection} by its end`);
}
