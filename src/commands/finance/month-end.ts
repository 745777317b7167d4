import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { packageFile } from '../../core/process/package-file.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { streamStatement } from '../../ledger/journal/charges/read-statement.ts';
import { planMonth } from '../../operations/months/plan-month.ts';
import { writeAtomically } from '../../reports/files/atomic-file.ts';
import { textPieces } from '../../reports/files/write-sheet.ts';
import type { TableColumn } from '../../reports/formats/columns.ts';
import { documentPieces, renderJson } from '../../reports/formats/json.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { monthEndHtml } from '../../reports/page/month-end-html.ts';
import { viewSheet } from '../../reports/queries/finance-view.ts';
import type { MonthEnd, MonthEndWorkspace } from '../../reports/queries/month-end-record.ts';
import {
  findNotices,
  formatLedgerState,
  formatMonthChange,
  formatMonthMoney,
  formatReadiness,
  formatWorkspaceState,
} from '../../reports/queries/month-end-words.ts';
import { ZipWriter } from '../../reports/xlsx/zip-writer.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, printProse, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { noteOtherRates } from './rates.ts';
import { chosenFormat, writeText } from './sheet-output.ts';

interface MonthEndOptions {
  workspace?: string[];
  format?: 'table' | 'html' | 'json';
  json?: boolean;
  out?: string;
  bundle?: string;
}

export function monthEndCommand(cli: CliContext): CliCommand {
  return reportingCommand('month-end')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--workspace <id...>', 'only these workspaces (default: all)')
    .addOption(new Option('--format <format>', 'output format (default: table)').choices(['table', 'json', 'html']))
    .option('--out <file>', 'write to this file')
    .option('--bundle <file>', 'write a self-verifying ZIP of the closed workspaces, for auditors')
    .examples('usage-ledger month-end 2026-02', 'usage-ledger month-end 2026-02 --format html --out february.html')
    .action((text: string, options: MonthEndOptions) =>
      cli.withContext(async (context) => {
        const format = chosenFormat(options, 'table');
        noteOtherRates(cli, context);
        const input = { period: parsePeriod(text), workspace: options.workspace };
        const plan = await planMonth.run(scopeOf(context), input);
        if (!plan.ready) cli.exitCode = EXIT.fault;
        if (options.bundle !== undefined) return writeBundle(cli, context, plan, options.bundle);
        if (format === 'json') cli.printJson(plan);
        else if (format === 'html') await writeText(cli, monthEndHtml(plan), options);
        else if (options.out === undefined) printPlan(cli, plan);
        else throw new UsageError('--out does not take a table', 'add --format html or --format json');
      }),
    );
}

function printPlan(cli: CliContext, plan: MonthEnd): void {
  printProse(cli, `${plan.period}: ${formatReadiness(plan)}`);
  cli.print(formatLedgerState(plan));
  cli.print(`head digest ${plan.head_digest ?? 'unknown'}`);
  cli.print('');
  cli.print(renderTable(plan.workspaces.map(workspaceRow), MONTH_END_COLUMNS, cli.tableOptions));
  for (const money of plan.money) {
    cli.print('');
    printProse(cli, formatMonthMoney(money));
    for (const largest of money.largest) printProse(cli, `  ${formatMonthChange(largest)}`, 2);
  }
  const blocked = plan.workspaces.filter(({ state }) => state === 'blocked');
  if (!plan.ready) printNotices(cli, 'Blocking:', [...ledgerBlockers(plan), ...blocked.flatMap(blockersOf)]);
  const notices = plan.workspaces.flatMap((workspace) => findNotices(workspace, plan.period));
  if (notices.length > 0) printNotices(cli, 'Also worth checking:', notices);
}

interface Notice {
  words: string;
  command: string | null;
}

function ledgerBlockers({ sound }: MonthEnd): Notice[] {
  return sound ? [] : [{ words: 'the ledger has faults', command: 'usage-ledger verify' }];
}

function blockersOf({ workspace_id: id, blockers }: MonthEndWorkspace): Notice[] {
  return blockers.map(({ reason, command }) => ({ words: `${inertText(id)}: ${reason}`, command }));
}

function printNotices(cli: CliContext, title: string, notices: readonly Notice[]): void {
  cli.print('');
  cli.print(title);
  for (const { words, command } of notices) {
    printProse(cli, `  ${words}`, 2);
    if (command !== null) cli.print(`    $ ${inertText(command)}`);
  }
}

const MONTH_END_COLUMNS: readonly TableColumn<ReturnType<typeof workspaceRow>>[] = [
  { name: 'workspace_id', header: 'Workspace', kind: 'id' },
  { name: 'tenants', header: 'Tenants', kind: 'count' },
  { name: 'unchanged_since', header: 'Unchanged since', kind: 'date', firm: true },
  { name: 'unnamed', header: 'Unnamed', kind: 'count' },
  { name: 'unpriced', header: 'Unpriced', kind: 'count' },
  { name: 'corrections', header: 'Corrected', kind: 'count' },
  { name: 'state', header: 'State', kind: 'text', firm: true },
];

function workspaceRow(workspace: MonthEndWorkspace) {
  const { workspace_id, tenants, unchanged_since, unnamed, unpriced, corrections } = workspace;
  return {
    workspace_id,
    tenants,
    unchanged_since: unchanged_since ?? 'never',
    unnamed: unnamed.count,
    unpriced: unpriced.count,
    corrections: corrections.tenants,
    state: formatWorkspaceState(workspace),
  };
}

const BUNDLE_VIEWS = ['closes', 'charges', 'charge_lines', 'lines', 'reconciliations'] as const;

const BUNDLE_README = `Month-end bundle of a usage ledger

month-end.json        for each workspace: state, reconciliation and total; the result of \`verify\`; the head digest
closes.csv            each close and reopening of the month: actor, time, digest
charges.csv           index of the statements: tenant, reference, amount, statement number, invoice number
charge_lines.csv      the lines of the charges
lines.csv             the manual lines
reconciliations.csv   results of comparisons with invoices, and the SHA-256 of the invoice files
statements/           the statements of each closed workspace, with their proofs
manifest.json         the SHA-256 of each file; the SHA-256 of manifest.json is the bundle digest

Unpack the bundle into an empty folder and run there, with Node 20 or later:

    node verify-bundle.mjs --digest DIGEST

DIGEST is the bundle digest, which you must have received separately from this file. Without it, the check only shows that
the files match each other: anyone who changes a file can also rewrite the manifest. Each statement can also be verified
alone, with the digest of its close: node verify-statement.mjs STATEMENT.json --digest CLOSE
`;

/** Writes the month's closes, charges and statements to one self-verifying ZIP file, read in one transaction. */
async function writeBundle(cli: CliContext, context: Context, plan: MonthEnd, out: string): Promise<void> {
  const { period, workspaces } = plan;
  const closed = workspaces.filter(({ state }) => state === 'closed').map(({ workspace_id }) => workspace_id);
  if (closed.length === 0)
    throw new UsageError(`no workspace is closed for ${period}`, 'close at least one workspace first');
  const { connection } = context.reader();
  const files: Record<string, string> = {};
  const statements: { workspace_id: string; file: string; close_digest: string }[] = [];
  let digest = '';
  const fill = async (path: string): Promise<void> => {
    const file = openSync(path, 'r+');
    const zip = new ZipWriter(file);
    const add = async (name: string, pieces: Iterable<string>): Promise<string> => {
      const hash = createHash('sha256');
      const hashed = function* (): Generator<string> {
        for (const piece of pieces) {
          hash.update(piece);
          yield piece;
        }
      };
      await zip.add(name, hashed());
      files[name] = hash.digest('hex');
      return files[name];
    };
    try {
      await add('README.txt', [BUNDLE_README]);
      await add('month-end.json', [renderJson(plan)]);
      for (const view of BUNDLE_VIEWS) {
        const { rows, ...sheet } = viewSheet(connection, view, { period });
        const workspaceColumn = sheet.columns.findIndex(({ name }) => name === 'workspace_id');
        const selected = function* () {
          for (const row of rows) if (workspaces.some(({ workspace_id: id }) => id === row[workspaceColumn])) yield row;
        };
        await add(`${view}.csv`, textPieces({ ...sheet, rows: selected() }, 'csv', { raw: true }));
      }
      for (const workspaceId of closed) {
        const stream = streamStatement(connection, { workspaceId, period, nowMs: context.clock.now() });
        if (stream === null || stream.end.proof === null) continue;
        const { begin, end, tenants } = stream;
        const name = `statements/${statements.length + 1}.json`;
        await add(name, documentPieces(begin, tenants(), { name: 'tenants', tail: end }));
        statements.push({ workspace_id: workspaceId, file: name, close_digest: stream.end.proof.close_digest });
      }
      for (const name of ['verify-statement.mjs', 'verify-bundle.mjs']) {
        await add(name, [readFileSync(packageFile('dist', name), 'utf8')]);
      }
      digest = await add('manifest.json', [renderJson({ period, head_digest: plan.head_digest, files, statements })]);
      zip.end();
    } finally {
      closeSync(file);
    }
  };
  connection.exec('BEGIN');
  try {
    await writeAtomically(resolve(cli.io.cwd, out), fill);
  } finally {
    connection.exec('ROLLBACK');
  }
  const words = `wrote ${out}: ${period}, ${counted(statements.length, 'closed workspace')}`;
  cli.printResult({ period, file: out, statements, digest }, [words, `bundle digest ${digest}`]);
}
