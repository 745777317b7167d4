import { InvalidArgumentError, Option } from 'commander';
import { type StatementDocument, statementForTenant } from '../../../billing/statement/document.ts';
import { UsageError } from '../../../core/errors.ts';
import { parsePeriod } from '../../../core/period.ts';
import { keepYoungGenerationSmall } from '../../../core/process/memory.ts';
import { inertText } from '../../../core/text/inert-text.ts';
import type { InvoiceNumberLookup } from '../../../ledger/journal/charges/invoice-numbers.ts';
import { ALL_ROWS } from '../../../operations/operation.ts';
import { readStatement, type StatementListing } from '../../../operations/statements/read-statement.ts';
import { formatDecimal, formatInteger, sheetOf } from '../../../reports/formats/columns.ts';
import { documentPieces } from '../../../reports/formats/json.ts';
import { renderTable } from '../../../reports/formats/table.ts';
import { projectionWords } from '../../../reports/statement/projection-words.ts';
import { tenantText } from '../../../reports/statement/statement-files.ts';
import { STATEMENT_COLUMNS, statementLines } from '../../../reports/statement/statement-lines.ts';
import { statementPage } from '../../../reports/statement/statement-page.tsx';
import { STATEMENT_WORDS } from '../../../reports/statement/statement-words.ts';
import type { Context } from '../../../wiring/context.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../../shared/cli-context.ts';
import { scopeOf } from '../../shared/command-scope.ts';
import { noteMissingTenant } from '../../shared/missing-tenant.ts';
import { noteOtherRates } from '../rates.ts';
import {
  addSheetOptions,
  chooseFormat,
  csvStyle,
  LISTING_FORMATS,
  type SheetOptions,
  writePieces,
  writeSheet,
  writeTable,
  writeText,
} from '../sheet-output.ts';
import { writeEach } from './each.ts';
import { statementVerifyCommand } from './verify.ts';

interface StatementOptions extends SheetOptions {
  tenant?: string;
  forTenant?: string;
  workspace?: string;
  each?: boolean;
  format?: Format[];
  json?: boolean;
}

const STATEMENT_FORMATS = [...LISTING_FORMATS, 'html'] as const;
type Format = (typeof STATEMENT_FORMATS)[number];

export function statementCommand(cli: CliContext): CliCommand {
  const command = reportingCommand('statement')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--tenant <id>', 'only this tenant')
    .option('--for-tenant <id>', 'for this tenant to receive: without data of other tenants (json, html or csv)')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .option('--each', 'write one file per tenant of all workspaces, and index.csv, to the folder --out')
    .addOption(formatOption());
  return addSheetOptions(command)
    .examples(
      'usage-ledger statement 2026-02',
      'usage-ledger statement 2026-02 --for-tenant acme --format html --out acme.html',
      'usage-ledger statement 2026-02 --each --out statements --format html,json',
    )
    .action((text: string, options: StatementOptions) =>
      cli.withContext((context) => showStatement(cli, context, text, options)),
    )
    .addCommand(statementVerifyCommand(cli));
}

function formatOption(): Option {
  const option = new Option(
    '--format <format>',
    'output format (default: table); with --each a list such as html,json',
  );
  option.argParser((text: string) => {
    const formats = text.split(',').map((one) => STATEMENT_FORMATS.find((format) => format === one));
    if (!formats.includes(undefined)) return formats;
    throw new InvalidArgumentError(`Allowed choices are ${STATEMENT_FORMATS.join(', ')}.`);
  });
  option.argChoices = [...STATEMENT_FORMATS];
  return option;
}

async function showStatement(
  cli: CliContext,
  context: Context,
  text: string,
  options: StatementOptions,
): Promise<void> {
  const tenantId = options.forTenant ?? options.tenant;
  const { format: formats = [], json } = options;
  const period = parsePeriod(text);
  keepYoungGenerationSmall();
  if (options.each === true) {
    if (tenantId !== undefined)
      throw new UsageError('--each cannot be combined with a tenant', 'remove --tenant or --for-tenant');
    const { workspace, out } = options;
    return writeEach(cli, context, { period, workspace, out, formats, style: csvStyle(options) });
  }
  const [only, another] = formats;
  if (another !== undefined) throw new UsageError('several formats need --each', 'name one format');
  const format = chooseFormat({ format: only, json }, 'table');
  noteOtherRates(cli, context);
  const scope = scopeOf(context);
  const { connection } = scope;
  const proof = format === 'json' || options.forTenant !== undefined;
  const input = { period, workspace: options.workspace, tenant: tenantId, proof };
  // One transaction keeps all tenants consistent with each other.
  connection.exec('BEGIN');
  try {
    const statement = readStatement.run(scope, input, ALL_ROWS);
    if (!(await writeStatement(cli, statement, { format, options }))) {
      cli.note('no tenant matches in this period');
      noteMissingTenant(cli, connection, { tenantId, workspaceId: statement.head.workspace_id });
    }
  } finally {
    connection.exec('ROLLBACK');
  }
}

async function writeStatement(
  cli: CliContext,
  { head: begin, rows: tenants, tail: end, invoiceOf }: StatementListing,
  { format, options }: { format: Format; options: StatementOptions },
): Promise<boolean> {
  let hasTenants = false;
  const listed = function* () {
    for (const tenant of tenants) {
      hasTenants = true;
      yield tenant;
    }
  };
  const name = `statement ${begin.period}`;
  if (options.forTenant !== undefined) {
    await writeForTenant(cli, { ...begin, tenants: [...listed()], ...end }, { format, options, invoiceOf });
  } else if (format === 'json') {
    await writePieces(cli, documentPieces(begin, listed(), { name: 'tenants', tail: end }), options);
  } else if (format === 'html') await writePieces(cli, statementPage(begin, listed()), options);
  else if (format !== 'table') {
    await writeSheet(cli, sheetOf(name, STATEMENT_COLUMNS, statementLines(begin, listed(), invoiceOf)), {
      format,
      options,
    });
  } else if (options.out === undefined) {
    printStatement(cli, { ...begin, tenants: [...listed()], ...end }, invoiceOf);
  } else await writeTable(cli, '', options);
  return hasTenants;
}

async function writeForTenant(
  cli: CliContext,
  statement: StatementDocument,
  { format, options, invoiceOf }: { format: Format; options: StatementOptions; invoiceOf: InvoiceNumberLookup },
): Promise<void> {
  if (format !== 'json' && format !== 'html' && format !== 'csv') {
    throw new UsageError('--for-tenant supports json, html and csv', 'choose one with --format');
  }
  if (options.tenant !== undefined) throw new UsageError('--for-tenant conflicts with --tenant', 'use one of them');
  if (statement.tenants.length === 0) return;
  const terminal = options.out === undefined && cli.io.stdout.isTTY === true;
  const style = { ...csvStyle(options), terminal };
  await writeText(cli, tenantText(statementForTenant(statement), format, { style, invoiceOf }), options);
}

function printStatement(cli: CliContext, statement: StatementDocument, invoiceOf: InvoiceNumberLookup): void {
  const { workspace_id, period, state, as_of, certificate, head_digest } = statement;
  cli.print(`${inertText(workspace_id)}, ${period}: ${STATEMENT_WORDS.en[state]}`);
  cli.print(`as of ${as_of ?? 'never'}${certificate === null ? '' : `, verified by ${certificate.run_id}`}`);
  if (head_digest !== null) cli.print(`${state === 'closed' ? 'close' : 'run'} digest ${head_digest}`);
  cli.print('');
  cli.print(
    renderTable([...statementLines(statement, statement.tenants, invoiceOf)], STATEMENT_COLUMNS, cli.tableOptions),
  );
  cli.print('');
  cli.print(`credits ${formatInteger(statement.credits_used)}`);
  for (const { currency, amount } of statement.totals) cli.print(`total ${formatDecimal(amount)} ${currency}`);
  const projection = projectionWords(statement);
  if (projection !== null) cli.print(`projected total: ${projection}`);
}
