import { resolve } from 'node:path';
import { compareCards } from '../../billing/rates/compare-cards.ts';
import { PeriodPricer } from '../../billing/rates/period-pricer.ts';
import { resolveRateCard } from '../../billing/rates/rate-card.ts';
import { loadCards } from '../../config/load.ts';
import { UsageError } from '../../core/errors.ts';
import { formatMinor } from '../../core/money.ts';
import { parsePeriod } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { requireKind } from '../../input-files/file-content.ts';
import { readInputFile } from '../../input-files/input-file.ts';
import {
  type CardSource,
  cardsInConfig,
  cardsInForce,
  changeOfCards,
  type ReplacementCards,
  refuseUnclear,
} from '../../ledger/journal/charges/card-store.ts';
import { pricerOfPeriod } from '../../ledger/journal/charges/credit-pricer.ts';
import { tenantNameLookup } from '../../ledger/store/tenant-names.ts';
import { ALL_ROWS } from '../../operations/operation.ts';
import { activeCards, CARD_COLUMNS, listRates } from '../../operations/rates/list-rates.ts';
import { requireKnownWorkspace } from '../../operations/workspace-choice.ts';
import type { Column } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { recordedUsage } from '../../reports/queries/usage.ts';
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
      cli.withContext((context) => {
        const source = file === undefined ? 'configuration' : 'import';
        if (file !== undefined) refuseConfigured(context);
        return applyCards(cli, context, { cards: cardsFrom(cli, context, file), source, yes });
      }),
    );
}

function clearCommand(cli: CliContext): CliCommand {
  return reportingCommand('clear')
    .description('Show how removing all rate cards would change amounts; apply with --yes.')
    .option(...YES_OPTION)
    .examples('usage-ledger rates clear --yes')
    .action(({ yes = false }: { yes?: boolean }) =>
      cli.withContext((context) => {
        refuseConfigured(context);
        return applyCards(cli, context, { cards: { rates: [], costs: [] }, source: 'import', yes });
      }),
    );
}

const YES_OPTION = ['--yes', 'apply the change; without this it is only shown'] as const;

/** Throws when the configuration has rate cards: the daemon would apply those again at its next start. */
function refuseConfigured({ config }: Context): void {
  const { rates, costs } = cardsInConfig(config);
  if (rates === null && costs === null) return;
  throw new UsageError(
    `the configuration has \`${rates === null ? 'costs' : 'rates'}:\``,
    'change the cards there, or remove them and try again',
  );
}

async function applyCards(
  cli: CliContext,
  context: Context,
  { cards, source, yes }: { cards: ReplacementCards; source: CardSource; yes: boolean },
): Promise<void> {
  const { rates, costs } = cards;
  const count = (rates?.length ?? 0) + (costs?.length ?? 0);
  for (const side of [rates, costs]) if (side !== null) refuseUnclear(side);
  // The writer comes first because it creates a missing ledger.
  const writer = yes ? await context.writer() : null;
  const change = changeOfCards(context.reader().connection, cards);
  const hasChanged = change.added.length + change.retired.length > 0;
  const comparison = comparisonWith(context, rates, { onlyOpen: true });
  if (hasChanged) await writer?.setCards({ cards: rates, costs, source, nowMs: context.clock.now() });
  if (cli.json) {
    cli.printJson({ applied: yes && hasChanged, cards: count, ...change, ...comparison });
    return;
  }
  if (!hasChanged) {
    cli.print('These rate cards are already active.');
    return;
  }
  for (const name of change.added) cli.print(`+ ${inertText(name)}`);
  for (const name of change.retired) cli.print(`- ${inertText(name)}`);
  if (comparison.months.length > 0) cli.print('');
  printComparison(cli, comparison);
  const hasRepriced = comparison.months.length > 0;
  if (yes) {
    const repriced = hasRepriced
      ? 'Open months were repriced; closed months are unchanged.'
      : 'Closed months are unchanged.';
    cli.print(`\n${counted(count, 'rate card is', 'rate cards are')} active. ${repriced}`);
  } else {
    const repriced = hasRepriced
      ? 'Open months would be repriced; closed months stay unchanged.'
      : 'Closed months stay unchanged.';
    cli.note(`Nothing changed yet: add --yes to apply. ${repriced}`);
  }
}

/** Notes when the configured rate cards differ from the active ones: commands that only read apply none. */
export function noteOtherRates(cli: CliContext, context: Context): void {
  const { added, retired } = changeOfCards(context.reader().connection, cardsInConfig(context.config));
  if (added.length + retired.length === 0) return;
  cli.note('The configured rate cards differ from the active ones: `usage-ledger rates apply` shows the difference.');
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
      cli.withContext((context) => {
        const { rates } = cardsFrom(cli, context, file);
        if (rates !== null) refuseUnclear(rates);
        printComparison(cli, comparisonWith(context, rates, { onlyOpen: false }), limit);
      }),
    );
}

const MAX_SHOWN_TENANTS = 20;

function cardsFrom(cli: CliContext, context: Context, file: string | undefined): ReplacementCards {
  if (file !== undefined) {
    const path = resolve(cli.io.cwd, file);
    requireKind(readInputFile(path, file), ['text', 'json'], 'write the cards as YAML, as a list below `rates:`');
    const loaded = loadCards(path, cli.io.env);
    for (const { name, workspace } of [...(loaded.rates ?? []), ...(loaded.costs ?? [])]) {
      requireKnownWorkspace(scopeOf(context), workspace, `${name}: workspace`);
    }
    return loaded;
  }
  const configured = cardsInConfig(context.config);
  if (configured.rates !== null || configured.costs !== null) return configured;
  throw new UsageError(
    'the configuration has no `rates:`',
    'name a file with rate cards, or add them to the configuration',
  );
}

type RatesComparison = ReturnType<typeof comparisonWith>;

/** Compares the amounts of months and tenants under the active cards and under `cards`; null compares the active cards with themselves. */
function comparisonWith(context: Context, cards: ReplacementCards['rates'], { onlyOpen }: { onlyOpen: boolean }) {
  const { connection } = context.reader();
  const others = cards?.map(resolveRateCard) ?? cardsInForce(connection);
  return connection.transaction(() => {
    const nameOf = tenantNameLookup(connection);
    const { months, tenants, unpriced } = compareCards(
      recordedUsage(connection, onlyOpen ? { isClosed: false } : {}),
      (workspaceId, period) => pricerOfPeriod(connection, workspaceId, period),
      (workspaceId, period) => new PeriodPricer(others, workspaceId, period),
    );
    return {
      months: months.map(({ period, ...sides }) => ({ period, ...amountsOf(sides) })),
      tenants: tenants
        .filter(({ nowMinor, otherMinor }) => nowMinor !== otherMinor)
        .map(({ workspaceId, tenantId, ...sides }) => {
          const display_name = nameOf(workspaceId, tenantId);
          return { workspace_id: workspaceId, tenant_id: tenantId, display_name, ...amountsOf(sides) };
        }),
      unpriced: unpriced.map(({ workspaceId, tenantId, period, why }) => {
        return { workspace_id: workspaceId, tenant_id: tenantId, period, why };
      }),
    };
  })();
}

function printComparison(
  cli: CliContext,
  { months, tenants, unpriced }: RatesComparison,
  limit = cli.json ? tenants.length : MAX_SHOWN_TENANTS,
): void {
  const shown = tenants.slice(0, limit);
  if (cli.json) {
    cli.printJson({ months, tenants: shown, unpriced });
    return;
  }
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

function amountsOf({ currency, nowMinor, otherMinor }: { currency: string; nowMinor: bigint; otherMinor: bigint }) {
  return {
    currency,
    now: formatMinor(nowMinor, currency),
    other: formatMinor(otherMinor, currency),
    difference: formatMinor(otherMinor - nowMinor, currency),
  };
}
