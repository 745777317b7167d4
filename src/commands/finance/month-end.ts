import { closeSync, openSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { requireClosed, writeMonthBundle } from '../../operations/months/month-bundle.ts';
import { planMonth } from '../../operations/months/plan-month.ts';
import { writeAtomically } from '../../reports/files/atomic-file.ts';
import type { TableColumn } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { monthEndDocument } from '../../reports/page/month-end-document.tsx';
import type { MonthEnd, MonthEndWorkspace } from '../../reports/queries/month-end-record.ts';
import {
  findNotices,
  formatLedgerState,
  formatMonthChange,
  formatMonthMoney,
  formatReadiness,
  formatWorkspaceState,
} from '../../reports/queries/month-end-words.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, printProse, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { noteOtherRates } from './rates.ts';
import { chooseFormat, writeText } from './sheet-output.ts';

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
        const format = chooseFormat(options, 'table');
        noteOtherRates(cli, context);
        const input = { period: parsePeriod(text), workspace: options.workspace };
        const plan = await planMonth.run(scopeOf(context), input);
        if (!plan.ready) cli.exitCode = EXIT.fault;
        if (options.bundle !== undefined) return writeBundle(cli, context, plan, options.bundle);
        if (format === 'json') cli.printJson(plan);
        else if (format === 'html') await writeText(cli, monthEndDocument(plan), options);
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

interface MonthNotice {
  words: string;
  command: string | null;
}

function ledgerBlockers({ sound }: MonthEnd): MonthNotice[] {
  return sound ? [] : [{ words: 'the ledger has faults', command: 'usage-ledger verify' }];
}

function blockersOf({ workspace_id: id, blockers }: MonthEndWorkspace): MonthNotice[] {
  return blockers.map(({ reason, command }) => ({ words: `${inertText(id)}: ${reason}`, command }));
}

function printNotices(cli: CliContext, title: string, notices: readonly MonthNotice[]): void {
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

async function writeBundle(cli: CliContext, context: Context, plan: MonthEnd, out: string): Promise<void> {
  requireClosed(plan);
  const { statements, digest } = await writeAtomically(resolve(cli.io.cwd, out), async (path) => {
    const file = openSync(path, 'r+');
    try {
      return await writeMonthBundle(context, plan, (bytes) => writeFileSync(file, bytes));
    } finally {
      closeSync(file);
    }
  });
  const { period } = plan;
  const words = `wrote ${out}: ${period}, ${counted(statements.length, 'closed workspace')}`;
  cli.printResult({ period, file: out, statements, digest }, [words, `bundle digest ${digest}`]);
}
