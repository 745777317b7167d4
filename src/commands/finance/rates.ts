import { resolve } from 'node:path';
import { loadCards } from '../../config/load.ts';
import { parsePeriod } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { requireKind } from '../../input-files/file-content.ts';
import { readInputFile } from '../../input-files/input-file.ts';
import { ALL_ROWS } from '../../operations/operation.ts';
import { applyRates, clearRates } from '../../operations/rates/apply-rates.ts';
import { checkRates, type RatesComparison } from '../../operations/rates/compare-rates.ts';
import { activeCards, CARD_COLUMNS, listRates } from '../../operations/rates/list-rates.ts';
import { otherRatesNote } from '../../operations/rates/other-rates-note.ts';
import type { Column } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import type { Context } from '../../wiring/context.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { firstRows, LIMIT_OPTION, printRows } from '../shared/options.ts';

export function ratesCommand(cli: CliContext): CliCommand {
  return new CliCommand('rates')
    .addCommand(applyCommand(cli))
    .addCommand(listCardsCommand(cli))
    .addCommand(checkCardsCommand(cli))
    .addCommand(clearCommand(cli))
    .examples('usage-ledger rates apply rates-2026.yml');
}

function applyCommand(cli: CliContext): CliCommand {
  return reportingCommand('apply')
    .description('Show how replacing all rate cards with these would change amounts; apply with --yes.')
    .argument('[file]', 'a file with `rates:`, `costs:` or both, and a list of cards (default: the configuration)')
    .option(...YES_OPTION)
    .examples('usage-ledger rates apply rates-2026.yml', 'usage-ledger rates apply --yes')
    .action((file: string | undefined, { yes = false }: { yes?: boolean }) =>
      cli.withContext(async (context) => {
        const cards = readCards(cli, file);
        const { document } = await applyRates.run(scopeOf(context), { ...cards, dry_run: !yes });
        printRates(cli, document, yes);
      }),
    );
}

function clearCommand(cli: CliContext): CliCommand {
  return reportingCommand('clear')
    .description('Show how removing all rate cards would change amounts; apply with --yes.')
    .option(...YES_OPTION)
    .examples('usage-ledger rates clear --yes')
    .action(({ yes = false }: { yes?: boolean }) =>
      cli.withContext(async (context) => {
        const { document } = await clearRates.run(scopeOf(context), { dry_run: !yes });
        printRates(cli, document, yes);
      }),
    );
}

const YES_OPTION = ['--yes', 'apply the change; without this it is only shown'] as const;

type RatesChange = Awaited<ReturnType<typeof applyRates.run>>['document'];

function printRates(cli: CliContext, change: RatesChange, yes: boolean): void {
  if (cli.json) {
    cli.printJson(change);
    return;
  }
  if (change.added.length + change.retired.length === 0) {
    cli.print('These rate cards are already active.');
    return;
  }
  for (const name of change.added) cli.print(`+ ${inertText(name)}`);
  for (const name of change.retired) cli.print(`- ${inertText(name)}`);
  const hasRepriced = change.months.length > 0;
  if (hasRepriced) cli.print('');
  printComparison(cli, change);
  if (yes) {
    const repriced = hasRepriced
      ? 'Open months were repriced; closed months are unchanged.'
      : 'Closed months are unchanged.';
    cli.print(`\n${counted(change.cards, 'rate card is', 'rate cards are')} active. ${repriced}`);
  } else {
    const repriced = hasRepriced
      ? 'Open months would be repriced; closed months stay unchanged.'
      : 'Closed months stay unchanged.';
    cli.note(`Nothing changed yet: add --yes to apply. ${repriced}`);
  }
}

/** Prints a note if the configured rate cards differ from the active ones. */
export function noteOtherRates(cli: CliContext, context: Context): void {
  const note = otherRatesNote(scopeOf(context));
  if (note !== null) cli.note(note);
}

function listCardsCommand(cli: CliContext): CliCommand {
  return reportingCommand('list')
    .description('List the active rate cards: prices and provider costs.')
    .option('--period <period>', 'only cards of this period, YYYY-MM')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger rates list', 'usage-ledger rates list --period 2026-02')
    .action((options: { period?: string; limit?: number }) =>
      cli.withContext(async (context) => {
        const period = options.period === undefined ? undefined : parsePeriod(options.period, '--period');
        noteOtherRates(cli, context);
        const scope = scopeOf(context);
        const matching = [...listRates.run(scope, { period }, ALL_ROWS).rows];
        if (matching.length === 0) {
          const isEmpty = activeCards(scope.connection).length === 0;
          cli.note(isEmpty ? 'no rate card is active: nothing is charged' : `no rate card covers ${period}`);
        }
        printRows(cli, firstRows(cli, matching, options.limit), CARD_COLUMNS);
      }),
    );
}

function checkCardsCommand(cli: CliContext): CliCommand {
  return reportingCommand('check')
    .description('Price the recorded history with these cards and with the active ones. Changes nothing.')
    .argument('[file]', 'a file with `rates:` and a list of cards (default: the configuration)')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger rates check rates-2027.yml')
    .action((file: string | undefined, { limit }: { limit?: number }) =>
      cli.withContext(async (context) => {
        const comparison = await checkRates.run(scopeOf(context), readCards(cli, file));
        if (cli.json) cli.printJson({ ...comparison, tenants: comparison.tenants.slice(0, limit) });
        else printComparison(cli, comparison, limit);
      }),
    );
}

const MAX_SHOWN_TENANTS = 20;

function readCards(cli: CliContext, file: string | undefined) {
  if (file === undefined) return {};
  const path = resolve(cli.io.cwd, file);
  requireKind(readInputFile(path, file), ['text', 'json'], 'write the cards as YAML, as a list below `rates:`');
  const { rates, costs } = loadCards(path, cli.io.env);
  return { rates: rates === null ? undefined : [...rates], costs: costs === null ? undefined : [...costs] };
}

function printComparison(
  cli: CliContext,
  { months, tenants, unpriced }: RatesComparison,
  limit = MAX_SHOWN_TENANTS,
): void {
  const shown = tenants.slice(0, limit);
  if (months.length > 0) cli.print(`${renderTable(months, MONTH_COLUMNS, cli.tableOptions)}\n`);
  if (shown.length > 0) cli.print(renderTable(shown, COMPARED_COLUMNS, cli.tableOptions));
  if (tenants.length > shown.length) cli.print(`${tenants.length - shown.length} more`);
  for (const { tenant_id, period, why } of unpriced.slice(0, limit)) {
    cli.print(`${inertText(tenant_id)} has no price in ${period}: ${inertText(why)}`);
  }
}

const AMOUNTS = [
  { name: 'now', kind: 'amount', header: 'Now' },
  { name: 'other', kind: 'amount', header: 'With these cards' },
  { name: 'difference', kind: 'amount', header: 'Difference' },
  { name: 'currency', kind: 'text', header: '' },
] as const;

const MONTH_COLUMNS: readonly Column<RatesComparison['months'][number]>[] = [
  { name: 'period', kind: 'text', header: 'Period' },
  ...AMOUNTS,
];

const COMPARED_COLUMNS: readonly Column<RatesComparison['tenants'][number]>[] = [
  { name: 'workspace_id', kind: 'id' },
  { name: 'tenant_id', kind: 'id', header: 'Tenant' },
  { name: 'display_name', kind: 'text', header: 'Name', sparse: true },
  ...AMOUNTS,
];
