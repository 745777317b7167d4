import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { type StatementDocument, statementForTenant } from '../../../billing/statement/document.ts';
import { UsageError } from '../../../core/errors.ts';
import { parsePeriod } from '../../../core/period.ts';
import { keepYoungGenerationSmall } from '../../../core/process/memory.ts';
import { inertText } from '../../../core/text/inert-text.ts';
import { readInputFile } from '../../../input-files/input-file.ts';
import { eventsSinceClose, type LaterEvent } from '../../../ledger/audit/anchor/check-anchors.ts';
import { isSignedBy, parseCheckpoint } from '../../../ledger/audit/anchor/checkpoint-log.ts';
import type { InvoiceOf } from '../../../ledger/journal/charges/invoice-numbers.ts';
import { ALL_ROWS } from '../../../operations/operation.ts';
import { readStatement, type StatementListing } from '../../../operations/statements/read-statement.ts';
import { formatDecimal, formatInteger, sheetOf } from '../../../reports/formats/columns.ts';
import { documentPieces } from '../../../reports/formats/json.ts';
import { renderTable } from '../../../reports/formats/table.ts';
import { tenantText } from '../../../reports/statement/statement-files.ts';
import { projectionWords, statementHtml } from '../../../reports/statement/statement-html.ts';
import { STATEMENT_COLUMNS, statementLines } from '../../../reports/statement/statement-lines.ts';
import { STATEMENT_WORDS } from '../../../reports/statement/statement-words.ts';
import { type StatementVerdict, verifyStatement } from '../../../verifier/verify-statement.ts';
import type { Context } from '../../../wiring/context.ts';
import { parseCheckpointKey, parseDigest, readCheckpoints } from '../../shared/checkpoint-options.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand } from '../../shared/cli-context.ts';
import { scopeOf } from '../../shared/command-scope.ts';
import { noteMissingTenant } from '../../shared/missing-tenant.ts';
import { noteOtherRates } from '../rates.ts';
import {
  addSheetOptions,
  chosenFormat,
  csvStyle,
  LISTING_FORMATS,
  type SheetOptions,
  writePieces,
  writeSheet,
  writeTable,
  writeText,
} from '../sheet-output.ts';
import { writeEach } from './each.ts';

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
  const format = chosenFormat({ format: only, json }, 'table');
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
  } else if (format === 'html') await writePieces(cli, statementHtml(begin, listed()), options);
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
  { format, options, invoiceOf }: { format: Format; options: StatementOptions; invoiceOf: InvoiceOf },
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

function printStatement(cli: CliContext, statement: StatementDocument, invoiceOf: InvoiceOf): void {
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

interface StatementVerifyOptions {
  digest?: string;
  checkpoint?: string;
  checkpointKey?: string;
  ledger?: boolean;
  consistencyOnly?: boolean;
}

/** The result of checking a close against one source outside the statement. */
interface Anchor {
  kind: 'digest' | 'checkpoint' | 'ledger';
  holds: boolean;
  words: string;
  /** The event that replaced the close since; null when none is known. Only a ledger can have one. */
  supersededBy: LaterEvent | null;
}

type AnchorSource = (closeDigest: string) => Anchor | Promise<Anchor>;

function statementVerifyCommand(cli: CliContext): CliCommand {
  return reportingCommand('verify')
    .description('Verify the statement of a closed period. Exit code 4: it is not authentic.')
    .argument('<file>', 'a statement in JSON')
    .option('--digest <digest>', 'the digest that `close` printed')
    .option('--checkpoint <file>', 'checkpoints stored elsewhere, including the one of the close')
    .option('--checkpoint-key <key>', 'the key that must have signed it, as `verify` prints it')
    .option('--ledger', 'check against the ledger, which also shows whether the close is still valid')
    .option('--consistency-only', 'check only that the file is consistent, which proves nothing about its origin')
    .examples(
      'usage-ledger statement verify acme.json --digest 9d675846...',
      'usage-ledger statement verify acme.json --checkpoint checkpoints.log --checkpoint-key MCowBQYDK2Vw...',
      'usage-ledger statement verify acme.json --ledger',
    )
    .action(async (file: string, options: StatementVerifyOptions) => {
      const sources = sourcesOf(cli, options);
      const text = readInputFile(resolve(cli.io.cwd, file), file).bytes.toString();
      const verdict = await verifyStatement(text, (data) => createHash('sha256').update(data).digest());
      const anchors: Anchor[] = [];
      if (verdict.isConsistent) for (const check of sources) anchors.push(await check(verdict.closeDigest));
      printVerdict(cli, verdict, anchors);
    });
}

/** Returns the sources that the options name. Throws UsageError when there is none, or one cannot be read. */
function sourcesOf(cli: CliContext, options: StatementVerifyOptions): AnchorSource[] {
  const { digest, checkpoint, checkpointKey, ledger, consistencyOnly } = options;
  const sources: AnchorSource[] = [];
  if (digest !== undefined) sources.push(digestSource(digest));
  if (checkpoint !== undefined) sources.push(checkpointSource(cli.io.cwd, checkpoint, checkpointKey));
  if (ledger === true) sources.push(ledgerSource(cli));
  if (checkpointKey !== undefined && checkpoint === undefined) {
    throw new UsageError('--checkpoint-key needs --checkpoint', 'add --checkpoint with the checkpoint file');
  }
  if (sources.length > 0 === (consistencyOnly === true)) {
    throw new UsageError(
      consistencyOnly === true
        ? '--consistency-only conflicts with the other options'
        : 'a statement alone proves nothing: its author could have invented all of it',
      'add the digest of the close (--digest), a checkpoint (--checkpoint, --checkpoint-key) or --ledger; --consistency-only authenticates nothing',
    );
  }
  return sources;
}

function digestSource(digest: string): AnchorSource {
  const expected = parseDigest(digest, '--digest');
  return (closeDigest) => {
    const holds = expected === closeDigest;
    const words = holds
      ? 'The digest of the close matches --digest.'
      : 'The digest of the close does not match --digest.';
    return { kind: 'digest', holds, words, supersededBy: null };
  };
}

function checkpointSource(cwd: string, file: string, checkpointKey: string | undefined): AnchorSource {
  if (checkpointKey === undefined) {
    throw new UsageError('--checkpoint needs --checkpoint-key', 'add the key that `usage-ledger verify` prints');
  }
  const key = parseCheckpointKey(checkpointKey);
  const lines = readCheckpoints(cwd, file);
  return (closeDigest) => {
    const matching = lines.map(parseCheckpoint).filter((checkpoint) => checkpoint?.digest === closeDigest);
    const signed = matching.some((checkpoint) => checkpoint !== null && isSignedBy(checkpoint, key));
    const words =
      matching.length === 0
        ? 'No checkpoint matches the close.'
        : `The checkpoint of the close is ${signed ? '' : 'not '}signed by --checkpoint-key.`;
    return { kind: 'checkpoint', holds: signed, words, supersededBy: null };
  };
}

function ledgerSource(cli: CliContext): AnchorSource {
  return (closeDigest) =>
    cli.withContext((context) => {
      const events = eventsSinceClose(context.reader().connection, closeDigest);
      const supersededBy = events?.at(-1) ?? null;
      const words = events === null ? 'The ledger does not have this close.' : 'The ledger has this close.';
      return { kind: 'ledger', holds: events !== null, words, supersededBy };
    });
}

function printVerdict(cli: CliContext, verdict: StatementVerdict, anchors: readonly Anchor[]): void {
  const authentic = verdict.isConsistent && anchors.length > 0 && anchors.every(({ holds }) => holds);
  const supersededBy = anchors.find((anchor) => anchor.supersededBy !== null)?.supersededBy ?? null;
  if (!verdict.isConsistent || supersededBy !== null || (anchors.length > 0 && !authentic)) cli.exitCode = EXIT.fault;
  if (cli.json) {
    cli.printJson({
      authentic,
      superseded_by: supersededBy,
      anchors: anchors.map(({ kind, holds }) => ({ kind, holds })),
      agrees: verdict.isConsistent,
      ...(verdict.isConsistent ? statementFacts(verdict) : { reason: verdict.reason }),
    });
    return;
  }
  if (!verdict.isConsistent) {
    cli.print(`not verified: ${inertText(verdict.reason)}`);
    return;
  }
  const { workspace_id, period, as_of, tenants, tenants_in_period: all } = verdict.statement;
  const subject = `${inertText(workspace_id)}, ${period}`;
  const coverage = all === null ? "one tenant's statement" : `${tenants.length} of ${all} tenants`;
  const closed = `${coverage}, closed at ${inertText(String(as_of))}`;
  if (anchors.length === 0) {
    cli.print(`${subject}: consistent (${closed})`);
    cli.print('Nothing is authenticated: the author of the file could have invented all of it.');
    cli.print(`close digest ${verdict.closeDigest}`);
    return;
  }
  const state = !authentic ? 'NOT authentic' : supersededBy === null ? 'authentic' : 'superseded';
  cli.print(`${subject}: ${state} (${closed})`);
  for (const { words } of anchors) cli.print(words);
  if (supersededBy !== null) cli.print(supersededWords(supersededBy));
  else if (authentic && !anchors.some(({ kind }) => kind === 'ledger')) {
    cli.note('Add --ledger to check whether the period was reopened since.');
  }
}

function statementFacts({ closeDigest, statement }: Extract<StatementVerdict, { isConsistent: true }>) {
  return {
    workspace_id: statement.workspace_id,
    period: statement.period,
    closed_at: statement.as_of,
    close_digest: closeDigest,
    tenants: statement.tenants.length,
    tenants_in_period: statement.tenants_in_period,
  };
}

function supersededWords({ action, at, actor }: LaterEvent): string {
  const event = action === 'reopen' ? 'reopened' : 'closed again';
  return `The period was ${event} at ${at} by ${inertText(actor)}: this statement is no longer valid.`;
}
