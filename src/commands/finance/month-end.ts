import { Option } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { type Period, parsePeriod } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { checkMoney } from '../../ledger/audit/money/verify-money.ts';
import { verifyLedgerFile } from '../../ledger/audit/verify/verify.ts';
import { endedWorkspaces } from '../../ledger/journal/ended.ts';
import type { TableColumn } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { monthEndHtml } from '../../reports/page/month-end-html.ts';
import { type MonthEndSubject, readMonthEnd } from '../../reports/queries/month-end.ts';
import type { MonthEnd, MonthEndWorkspace } from '../../reports/queries/month-end-record.ts';
import {
  changeWords,
  moneyWords,
  noticesOf,
  readyWords,
  soundWords,
  stateWords,
} from '../../reports/queries/month-end-words.ts';
import { ledgerWorkspaces } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { chooseWorkspace } from '../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand } from '../shared/cli-context.ts';
import { printProse } from '../shared/prose.ts';
import { writeBundle } from './bundle.ts';
import { noteOtherRates } from './rates.ts';
import { chosenFormat, putText } from './sheet-output.ts';

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
    .addOption(
      new Option('--format <format>', 'form of the answer (default: table)').choices(['table', 'json', 'html']),
    )
    .option('--out <file>', 'write into this file')
    .option('--bundle <file>', 'a ZIP file for the auditor, of what is closed, that checks itself')
    .examples('usage-ledger month-end 2026-02', 'usage-ledger month-end 2026-02 --format html --out february.html')
    .action((text: string, options: MonthEndOptions) =>
      cli.withContext(async (context) => {
        const format = chosenFormat(options, 'table');
        noteOtherRates(cli, context);
        const plan = await planMonth(context, parsePeriod(text), options.workspace);
        if (!plan.ready) cli.exitCode = EXIT.fault;
        if (options.bundle !== undefined) return writeBundle(cli, context, plan, options.bundle);
        if (format === 'json') cli.printJson(plan);
        else if (format === 'html') await putText(cli, monthEndHtml(plan), options);
        else if (options.out === undefined) printPlan(cli, plan);
        else throw new UsageError('a table goes to stdout only', 'give --format html or json with --out');
      }),
    );
}

export function verifyBooks(context: Context) {
  return verifyLedgerFile(context.reader().connection, [checkMoney]);
}

export async function planMonth(context: Context, period: Period, ids?: readonly string[]): Promise<MonthEnd> {
  const { config } = context;
  const { connection } = context.reader();
  const verified = await verifyBooks(context);
  const workspaces = ids?.map((id) => chooseWorkspace(config, id)) ?? subjectsOf(context);
  const request = { period, workspaces, maxChange: config.close.maxChange, verified, nowMs: context.clock.now() };
  return connection.transaction(() => readMonthEnd(connection, request))();
}

/** All that are configured, and what the ledger reads though it is not. */
function subjectsOf(context: Context): MonthEndSubject[] {
  const { connection } = context.reader();
  const configured = new Set(context.config.workspaces.map(({ id }) => id));
  const ended = new Set(endedWorkspaces(connection));
  const unconfigured = ledgerWorkspaces(connection).filter((id) => !configured.has(id) && !ended.has(id));
  return [...context.config.workspaces, ...unconfigured.map((id) => ({ id, settleHours: null }))];
}

function printPlan(cli: CliContext, plan: MonthEnd): void {
  printProse(cli, `${plan.period}: ${readyWords(plan)}`);
  cli.print(soundWords(plan));
  cli.print(`head digest ${plan.head_digest ?? 'unknown'}`);
  cli.print('');
  cli.print(renderTable(plan.workspaces.map(rowOf), COLUMNS, cli.tableOptions));
  for (const money of plan.money) {
    cli.print('');
    printProse(cli, moneyWords(money));
    for (const largest of money.largest) printProse(cli, `  ${changeWords(largest)}`, 2);
  }
  const blocked = plan.workspaces.filter(({ state }) => state === 'blocked');
  if (!plan.ready) printList(cli, 'In the way:', [...soundBlocker(plan), ...blocked.flatMap(blockersOf)]);
  const notices = plan.workspaces.flatMap((workspace) => noticesOf(workspace, plan.period));
  if (notices.length > 0) printList(cli, 'To look at, in the way of nothing:', notices);
}

interface Said {
  words: string;
  command: string | null;
}

function soundBlocker({ sound }: MonthEnd): Said[] {
  return sound ? [] : [{ words: 'the ledger has faults', command: 'usage-ledger verify' }];
}

function blockersOf({ workspace_id: id, blockers }: MonthEndWorkspace): Said[] {
  return blockers.map(({ reason, command }) => ({ words: `${inertText(id)}: ${reason}`, command }));
}

function printList(cli: CliContext, title: string, all: readonly Said[]): void {
  cli.print('');
  cli.print(title);
  for (const { words, command } of all) {
    printProse(cli, `  ${words}`, 2);
    if (command !== null) cli.print(`    $ ${inertText(command)}`);
  }
}

const COLUMNS: readonly TableColumn<ReturnType<typeof rowOf>>[] = [
  { name: 'workspace_id', header: 'Workspace', kind: 'id' },
  { name: 'tenants', header: 'Tenants', kind: 'count' },
  { name: 'unchanged_since', header: 'Read since', kind: 'date', firm: true },
  { name: 'unnamed', header: 'Unnamed', kind: 'count' },
  { name: 'unpriced', header: 'Unpriced', kind: 'count' },
  { name: 'corrections', header: 'Corrected', kind: 'count' },
  { name: 'state', header: 'State', kind: 'text', firm: true },
];

function rowOf(workspace: MonthEndWorkspace) {
  const { workspace_id, tenants, unchanged_since, unnamed, unpriced, corrections } = workspace;
  return {
    workspace_id,
    tenants,
    unchanged_since: unchanged_since ?? 'never',
    unnamed: unnamed.count,
    unpriced: unpriced.count,
    corrections: corrections.tenants,
    state: stateWords(workspace),
  };
}
