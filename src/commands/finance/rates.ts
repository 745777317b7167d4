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
  type StoredCard,
} from '../../ledger/journal/charges/card-store.ts';
import { pricerOfPeriod } from '../../ledger/journal/charges/credit-pricer.ts';
import { CARD_SIDES, type CardSide } from '../../ledger/store/schema/billing-tables.ts';
import { tenantNames } from '../../ledger/store/tenant-names.ts';
import type { Column } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { recordedUsage } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { firstRows, LIMIT_OPTION, putRows } from '../shared/options.ts';

export function ratesCommand(cli: CliContext): CliCommand {
  return new CliCommand('rates')
    .addCommand(applyCommand(cli))
    .addCommand(listCommand(cli))
    .addCommand(checkCommand(cli))
    .addCommand(clearCommand(cli))
    .examples('usage-ledger rates apply rates-2026.yml');
}

function applyCommand(cli: CliContext): CliCommand {
  return reportingCommand('apply')
    .description('Show what these cards would change in place of all others; do it with --yes.')
    .argument('[file]', 'a file with `rates:`, `costs:` or both, and a list of cards (default: the configuration)')
    .option(...YES_OPTION)
    .examples('usage-ledger rates apply rates-2026.yml', 'usage-ledger rates apply --yes')
    .action((file: string | undefined, { yes = false }: { yes?: boolean }) =>
      cli.withContext((context) => {
        const source = file === undefined ? 'configuration' : 'import';
        if (file !== undefined) refuseConfigured(context);
        return putIntoForce(cli, context, { given: givenCards(cli, context, file), source, yes });
      }),
    );
}

function clearCommand(cli: CliContext): CliCommand {
  return reportingCommand('clear')
    .description('Show what it would change to have no card in force; do it with --yes.')
    .option(...YES_OPTION)
    .examples('usage-ledger rates clear --yes')
    .action(({ yes = false }: { yes?: boolean }) =>
      cli.withContext((context) => {
        refuseConfigured(context);
        return putIntoForce(cli, context, { given: { rates: [], costs: [] }, source: 'import', yes });
      }),
    );
}

const YES_OPTION = ['--yes', 'do it; without this it is only shown'] as const;

/** The daemon would put the cards of the configuration into force again with its next start. */
function refuseConfigured({ config }: Context): void {
  const { rates, costs } = cardsInConfig(config);
  if (rates === null && costs === null) return;
  throw new UsageError(
    `the configuration has \`${rates === null ? 'costs' : 'rates'}:\``,
    'change them there, or remove them, and try again',
  );
}

async function putIntoForce(
  cli: CliContext,
  context: Context,
  { given, source, yes }: { given: ReplacementCards; source: CardSource; yes: boolean },
): Promise<void> {
  const { rates, costs } = given;
  const count = (rates?.length ?? 0) + (costs?.length ?? 0);
  for (const cards of [rates, costs]) if (cards !== null) refuseUnclear(cards);
  // First of all: it makes the ledger where there is none yet.
  const writer = yes ? await context.writer() : null;
  const change = changeOfCards(context.reader().connection, given);
  const isNew = change.added.length + change.retired.length > 0;
  const comparison = comparisonWith(context, rates, { onlyOpen: true });
  if (isNew) await writer?.setCards({ cards: rates, costs, source, nowMs: context.clock.now() });
  if (cli.json) {
    cli.printJson({ applied: yes && isNew, cards: count, ...change, ...comparison });
    return;
  }
  if (!isNew) {
    cli.print('these cards are in force already');
    return;
  }
  for (const name of change.added) cli.print(`+ ${inertText(name)}`);
  for (const name of change.retired) cli.print(`- ${inertText(name)}`);
  if (comparison.months.length > 0) cli.print('');
  putComparison(cli, comparison);
  const words = `closed months keep theirs${comparison.months.length === 0 ? '' : ', open ones are priced anew as above'}`;
  if (yes) cli.print(`\n${counted(count, 'card is', 'cards are')} in force; ${words}`);
  else cli.note(`nothing is changed yet: --yes does it; ${words}`);
}

/** Says when the configuration has other cards than those in force: what only reads puts none into force. */
export function noteOtherRates(cli: CliContext, context: Context): void {
  const { added, retired } = changeOfCards(context.reader().connection, cardsInConfig(context.config));
  if (added.length + retired.length === 0) return;
  cli.note(
    'the configuration has other rate cards than those in force: `usage-ledger rates apply` shows the difference',
  );
}

type CardRow = ReturnType<typeof cardRow>;

function cardRow(card: StoredCard, side: CardSide) {
  return {
    name: card.name,
    side,
    from_period: card.fromPeriod,
    to_period: card.toPeriod,
    workspace: card.workspace,
    tenant: card.tenant,
    currency: card.currency,
    model: card.pricing.model,
    price_per_request: card.pricePerRequest,
    source: card.source,
    recorded_at: card.recordedAt,
    digest: card.digest,
  };
}

const CARD_COLUMNS: readonly Column<CardRow>[] = [
  { name: 'name', kind: 'text', header: 'Card' },
  { name: 'side', kind: 'text', header: 'Side' },
  { name: 'from_period', kind: 'text', header: 'From' },
  { name: 'to_period', kind: 'text', header: 'To' },
  { name: 'workspace', kind: 'id', header: 'Workspace', words: (workspace) => workspace ?? 'all' },
  { name: 'tenant', kind: 'id', header: 'Tenant', words: (tenant) => tenant ?? 'all' },
  { name: 'currency', kind: 'text', header: 'Currency' },
  { name: 'model', kind: 'text', header: 'Pricing' },
  { name: 'price_per_request', kind: 'price', header: 'A request', sparse: true },
  { name: 'source', kind: 'text', header: 'Source' },
  { name: 'recorded_at', kind: 'date' },
  { name: 'digest', kind: 'id' },
];

function listCommand(cli: CliContext): CliCommand {
  return reportingCommand('list')
    .description('List the cards in force: prices, and what the provider charges.')
    .option('--period <period>', 'only cards that price this period, YYYY-MM')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger rates list', 'usage-ledger rates list --period 2026-02')
    .action((options: { period?: string; limit?: number }) =>
      cli.withContext(async (context) => {
        const period = options.period === undefined ? null : parsePeriod(options.period, '--period');
        noteOtherRates(cli, context);
        const { connection } = context.reader();
        const all = CARD_SIDES.flatMap((side) => cardsInForce(connection, side).map((card) => cardRow(card, side)));
        const fitting = all.filter((card) => period === null || prices(card, period));
        if (all.length === 0) cli.note('no rate card is in force: nothing is charged');
        else if (fitting.length === 0) cli.note(`no rate card prices ${period}`);
        putRows(cli, firstRows(cli, fitting, options.limit), CARD_COLUMNS);
      }),
    );
}

/** Periods compare as text. */
function prices({ from_period, to_period }: CardRow, period: string): boolean {
  return from_period <= period && (to_period === null || period <= to_period);
}

function checkCommand(cli: CliContext): CliCommand {
  return reportingCommand('check')
    .description('Price the recorded history by these cards, beside those in force. Changes nothing.')
    .argument('[file]', 'a file with `rates:` and a list of cards (default: the configuration)')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger rates check rates-2027.yml')
    .action((file: string | undefined, { limit }: { limit?: number }) =>
      cli.withContext((context) => {
        const { rates } = givenCards(cli, context, file);
        if (rates !== null) refuseUnclear(rates);
        putComparison(cli, comparisonWith(context, rates, { onlyOpen: false }), limit);
      }),
    );
}

const SHOWN_TENANTS = 20;

function givenCards(cli: CliContext, context: Context, file: string | undefined): ReplacementCards {
  if (file !== undefined) {
    const path = resolve(cli.io.cwd, file);
    requireKind(readInputFile(path, file), ['text', 'json'], 'write the cards as YAML: `rates:` with a list below it');
    const given = loadCards(path, cli.io.env);
    for (const { name, workspace } of [...(given.rates ?? []), ...(given.costs ?? [])]) {
      requireKnownWorkspace(context, workspace, `${name}: workspace`);
    }
    return given;
  }
  const given = cardsInConfig(context.config);
  if (given.rates !== null || given.costs !== null) return given;
  throw new UsageError('the configuration has no `rates:`', 'name a file with rate cards, or write them there');
}

type RatesComparison = ReturnType<typeof comparisonWith>;

/** What months and tenants cost by the cards that hold for each month, and by others; null: those hold on. */
function comparisonWith(context: Context, cards: ReplacementCards['rates'], { onlyOpen }: { onlyOpen: boolean }) {
  const { connection } = context.reader();
  const others = cards?.map(resolveRateCard) ?? cardsInForce(connection);
  return connection.transaction(() => {
    const nameOf = tenantNames(connection);
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

function putComparison(
  cli: CliContext,
  { months, tenants, unpriced }: RatesComparison,
  limit = cli.json ? tenants.length : SHOWN_TENANTS,
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
    cli.print(`${inertText(tenant_id)} is left unpriced in ${period}: ${inertText(why)}`);
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
