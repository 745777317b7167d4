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
import { type StatementStream, streamStatement } from '../../../ledger/journal/charges/read-statement.ts';
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
import { chooseWorkspace, noteNearTenants, unknownPeriod } from '../../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand } from '../../shared/cli-context.ts';
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
  styleOf,
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
    .option('--for-tenant <id>', 'for this tenant: holds nothing of others (json, html or csv)')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--each', 'one for each tenant of all workspaces, with index.csv, into the folder --out')
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
  const option = new Option('--format <format>', 'form of the answer (default: table); with --each such as html,json');
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
      throw new UsageError('--each goes with no tenant', 'leave --tenant and --for-tenant out');
    const { workspace, out } = options;
    return writeEach(cli, context, { period, workspace, out, formats, style: styleOf(options) });
  }
  const [only, another] = formats;
  if (another !== undefined) throw new UsageError('several formats go with --each only', 'name one format');
  const format = chosenFormat({ format: only, json }, 'table');
  const { id: workspaceId } = chooseWorkspace(context.config, options.workspace);
  noteOtherRates(cli, context);
  const { connection } = context.reader();
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
  { begin, end, tenants, invoiceOf }: StatementStream,
  { format, options }: { format: Format; options: StatementOptions },
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
    await showForTenant(cli, { ...begin, tenants: [...listed()], ...end }, { format, options, invoiceOf });
  } else if (format === 'json') {
    await putPieces(cli, documentPieces(begin, listed(), { name: 'tenants', tail: end }), options);
  } else if (format === 'html') await putPieces(cli, statementHtml(begin, listed()), options);
  else if (format !== 'table') {
    await putSheet(cli, sheetOf(name, STATEMENT_COLUMNS, statementLines(begin, listed(), invoiceOf)), {
      format,
      options,
    });
  } else if (options.out === undefined) {
    printStatement(cli, { ...begin, tenants: [...listed()], ...end }, invoiceOf);
  } else await putTable(cli, '', options);
  return hasTenants;
}

async function showForTenant(
  cli: CliContext,
  statement: StatementDocument,
  { format, options, invoiceOf }: { format: Format; options: StatementOptions; invoiceOf: InvoiceOf },
): Promise<void> {
  if (format !== 'json' && format !== 'html' && format !== 'csv') {
    throw new UsageError('--for-tenant makes json, html or csv', 'name one of these with --format');
  }
  if (options.tenant !== undefined) throw new UsageError('--for-tenant and --tenant exclude each other', 'name one');
  if (statement.tenants.length === 0) return;
  const terminal = options.out === undefined && cli.io.stdout.isTTY === true;
  const style = { ...styleOf(options), terminal };
  await putText(cli, tenantText(statementForTenant(statement), format, { style, invoiceOf }), options);
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
  if (projection !== null) cli.print(`at this rate ${projection} by its end`);
}

interface StatementVerifyOptions {
  digest?: string;
  checkpoint?: string;
  checkpointKey?: string;
  ledger?: boolean;
  consistencyOnly?: boolean;
}

/** What was kept elsewhere says of a close: whose word it is, and whether the close is as the statement has it. */
interface Anchor {
  kind: 'digest' | 'checkpoint' | 'ledger';
  holds: boolean;
  words: string;
  /** What took the place of the close since. Only a ledger can tell. */
  supersededBy: LaterEvent | null;
}

type Source = (closeDigest: string) => Anchor | Promise<Anchor>;

function statementVerifyCommand(cli: CliContext): CliCommand {
  return reportingCommand('verify')
    .description('Check the statement of a closed period. Exit code 4: it is not authentic.')
    .argument('<file>', 'a statement as JSON')
    .option('--digest <digest>', 'the digest that `close` printed')
    .option('--checkpoint <file>', 'checkpoints kept elsewhere, with the one of the close')
    .option('--checkpoint-key <key>', 'who must have signed it, as `verify` prints it')
    .option('--ledger', 'the ledger; only this says whether the close is still in force')
    .option('--consistency-only', 'only whether it agrees with itself, which proves nothing')
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
      if (verdict.isConsistent) for (const ask of sources) anchors.push(await ask(verdict.closeDigest));
      report(cli, verdict, anchors);
    });
}

/** What was kept elsewhere. Throws UsageError when nothing was given, or what was given cannot be read. */
function sourcesOf(cli: CliContext, options: StatementVerifyOptions): Source[] {
  const { digest, checkpoint, checkpointKey, ledger, consistencyOnly } = options;
  const sources: Source[] = [];
  if (digest !== undefined) sources.push(digestSource(digest));
  if (checkpoint !== undefined) sources.push(checkpointSource(cli.io.cwd, checkpoint, checkpointKey));
  if (ledger === true) sources.push(ledgerSource(cli));
  if (checkpointKey !== undefined && checkpoint === undefined) {
    throw new UsageError('--checkpoint-key without --checkpoint checks nothing', 'name the file of checkpoints, too');
  }
  if (sources.length > 0 === (consistencyOnly === true)) {
    throw new UsageError(
      consistencyOnly === true
        ? '--consistency-only leaves out what else was given'
        : 'a statement proves nothing by itself: whoever wrote it can have made all of it up',
      'give the digest of the close (--digest), a checkpoint of it (--checkpoint, --checkpoint-key) or --ledger; --consistency-only authenticates nothing',
    );
  }
  return sources;
}

function digestSource(digest: string): Source {
  const given = parseDigest(digest, '--digest');
  return (closeDigest) => {
    const holds = given === closeDigest;
    const words = holds ? 'its close has the digest that was given' : 'its close has another digest than was given';
    return { kind: 'digest', holds, words, supersededBy: null };
  };
}

function checkpointSource(cwd: string, file: string, checkpointKey: string | undefined): Source {
  if (checkpointKey === undefined) {
    throw new UsageError('--checkpoint wants --checkpoint-key', 'give the key that `usage-ledger verify` has said');
  }
  const key = parseCheckpointKey(checkpointKey);
  const lines = readCheckpoints(cwd, file);
  return (closeDigest) => {
    const own = lines.map(parseCheckpoint).filter((checkpoint) => checkpoint?.digest === closeDigest);
    const signed = own.some((checkpoint) => checkpoint !== null && isSignedBy(checkpoint, key));
    const words =
      own.length === 0
        ? 'none of the checkpoints is of its close'
        : `the checkpoint of its close is ${signed ? '' : 'not '}signed by the key that was given`;
    return { kind: 'checkpoint', holds: signed, words, supersededBy: null };
  };
}

function ledgerSource(cli: CliContext): Source {
  return (closeDigest) =>
    cli.withContext((context) => {
      const events = eventsSinceClose(context.reader().connection, closeDigest);
      const supersededBy = events?.at(-1) ?? null;
      const words = events === null ? 'the ledger has no such close' : 'the ledger has its close';
      return { kind: 'ledger', holds: events !== null, words, supersededBy };
    });
}

function report(cli: CliContext, verdict: StatementVerdict, anchors: readonly Anchor[]): void {
  const authentic = verdict.isConsistent && anchors.length > 0 && anchors.every(({ holds }) => holds);
  const supersededBy = anchors.find((anchor) => anchor.supersededBy !== null)?.supersededBy ?? null;
  if (!verdict.isConsistent || supersededBy !== null || (anchors.length > 0 && !authentic)) cli.exitCode = EXIT.fault;
  if (cli.json) {
    cli.printJson({
      authentic,
      superseded_by: supersededBy,
      anchors: anchors.map(({ kind, holds }) => ({ kind, holds })),
      agrees: verdict.isConsistent,
      ...(verdict.isConsistent ? factsOf(verdict) : { reason: verdict.reason }),
    });
    return;
  }
  if (!verdict.isConsistent) {
    cli.print(`not proven: ${inertText(verdict.reason)}`);
    return;
  }
  const { workspace_id, period, as_of, tenants, tenants_in_period: all } = verdict.statement;
  const which = `${period} of ${inertText(workspace_id)}`;
  const whose = all === null ? 'what its tenant was given' : `${tenants.length} of ${all} tenants`;
  const whom = `${whose}, as closed at ${inertText(String(as_of))}`;
  if (anchors.length === 0) {
    cli.print(`${which} agrees with itself: ${whom}`);
    cli.print('nothing is authenticated: whoever wrote the file can have made all of it up');
    cli.print(`digest of its close: ${verdict.closeDigest}`);
    return;
  }
  const word = !authentic ? 'NOT authentic' : supersededBy === null ? 'authentic' : 'superseded';
  cli.print(`${which} is ${word}: ${whom}`);
  for (const { words } of anchors) cli.print(words);
  if (supersededBy !== null) cli.print(supersededWords(supersededBy));
  else if (authentic && !anchors.some(({ kind }) => kind === 'ledger')) {
    cli.note('Only the ledger can tell whether the period was reopened since: --ledger.');
  }
}

function factsOf({ closeDigest, statement }: Extract<StatementVerdict, { isConsistent: true }>) {
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
  const what = action === 'reopen' ? 'the period was reopened' : 'the period was closed anew';
  return `${what} at ${at} by ${inertText(actor)}: this statement is no longer in force`;
}
