import { resolve } from 'node:path';
import { Command } from 'commander';
import { compareCards } from '../../billing/rates/compare-cards.ts';
import { resolveRateCard } from '../../billing/rates/rate-card.ts';
import { loadRates } from '../../config/reading/load-rates.ts';
import { UsageError } from '../../core/errors.ts';
import { formatMinor } from '../../core/money.ts';
import { parsePeriod } from '../../core/period.ts';
import { cardsInForce, type StoredCard } from '../../ledger/journal/charges/card-store.ts';
import { formatDecimal } from '../../reports/formats/format.ts';
import { renderTable, type TableColumn } from '../../reports/formats/table.ts';
import { recordedUsage } from '../../reports/queries/recorded-usage.ts';
import { tenantNames } from '../../reports/queries/tenants.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { firstRows, LIMIT_OPTION } from '../shared/limit.ts';
import { bringRatesIntoForce } from './statement.ts';

export function ratesCommand(cli: CliContext): Command {
  return new Command('rates')
    .addCommand(importCommand(cli))
    .addCommand(listCommand(cli))
    .addCommand(checkCommand(cli))
    .addHelpText('after', examples('usage-ledger rates import rates-2026.yml', 'usage-ledger rates list'));
}

function importCommand(cli: CliContext): Command {
  return reportingCommand('import')
    .description('Put the cards of a YAML file into force, in place of all others; closed periods keep theirs.')
    .argument('<file>', 'a file with `rates:` and a list of cards, as in the configuration')
    .addHelpText('after', examples('usage-ledger rates import rates-2026.yml'))
    .action((file: string) =>
      cli.withContext(async (context) => {
        if (context.config.rates !== null) {
          throw new UsageError('the configuration has `rates:`', 'change them there, or remove them to import cards');
        }
        const cards = loadRates(resolve(cli.io.cwd, file), cli.io.env);
        const writer = await context.existingWriter();
        const change = await writer.call('setCards', { cards, source: 'import', nowMs: context.clock.now() });
        if (cli.json) cli.printJson({ cards: cards.length, ...change });
        else cli.print(`${cards.length} cards in force: ${change.added} added, ${change.retired} retired`);
      }),
    );
}

type CardRow = ReturnType<typeof cardRow>;

function cardRow(card: StoredCard) {
  return {
    name: card.name,
    from_period: card.fromPeriod,
    to_period: card.toPeriod,
    workspace: card.workspace,
    tenant: card.tenant,
    currency: card.currency,
    model: card.pricing.model,
    source: card.source,
    recorded_at: card.recordedAt,
    digest: card.digest,
  };
}

const CARD_COLUMNS: TableColumn<CardRow>[] = [
  { key: 'name', header: 'Card' },
  { key: 'from_period', header: 'From' },
  { key: 'to_period', header: 'To' },
  { key: 'workspace', header: 'Workspace', format: (workspace) => workspace ?? 'all' },
  { key: 'tenant', header: 'Tenant', format: (tenant) => tenant ?? 'all' },
  { key: 'currency', header: 'Currency' },
  { key: 'model', header: 'Pricing' },
  { key: 'source', header: 'Source' },
];

function listCommand(cli: CliContext): Command {
  return reportingCommand('list')
    .description('The rate cards in force.')
    .option('--period <period>', 'only cards that price this period, YYYY-MM')
    .option(...LIMIT_OPTION)
    .addHelpText('after', examples('usage-ledger rates list', 'usage-ledger rates list --period 2026-02'))
    .action((options: { period?: string; limit?: number }) =>
      cli.withContext(async (context) => {
        const period = options.period === undefined ? null : parsePeriod(options.period, '--period');
        await bringRatesIntoForce(context);
        const all = cardsInForce(context.reader().connection).map(cardRow);
        const fitting = all.filter((card) => period === null || prices(card, period));
        if (all.length === 0) cli.note('no rate card is in force: nothing is charged');
        else if (fitting.length === 0) cli.note(`no rate card prices ${period}`);
        const rows = firstRows(cli, fitting, options.limit);
        if (cli.json) cli.printJson({ rows });
        else if (rows.length > 0) cli.print(renderTable(rows, CARD_COLUMNS, cli.tableOptions));
      }),
    );
}

/** Periods compare as text. */
function prices({ from_period, to_period }: CardRow, period: string): boolean {
  return from_period <= period && (to_period === null || period <= to_period);
}

/** Tenants that are shown without --json. */
const SHOWN_TENANTS = 20;

function checkCommand(cli: CliContext): Command {
  return reportingCommand('check')
    .description('Price the recorded history by the cards of a file beside those in force; nothing is changed.')
    .argument('<file>', 'a file with `rates:` and a list of cards')
    .addHelpText('after', examples('usage-ledger rates check rates-2027.yml'))
    .action((file: string) =>
      cli.withContext(async (context) => {
        const others = loadRates(resolve(cli.io.cwd, file), cli.io.env).map(resolveRateCard);
        await bringRatesIntoForce(context);
        const { connection } = context.reader();
        const { months, tenants, nameOf } = connection.transaction(() => ({
          ...compareCards(recordedUsage(connection), cardsInForce(connection), others),
          nameOf: tenantNames(connection),
        }))();
        const monthRows = months.map(({ period, ...sides }) => ({ period, ...amountsOf(sides) }));
        const tenantRows = tenants
          .filter(({ nowMinor, otherMinor }) => nowMinor !== otherMinor)
          .map(({ workspaceId, tenantId, ...sides }) => {
            const display_name = nameOf(workspaceId, tenantId);
            return { workspace_id: workspaceId, tenant_id: tenantId, display_name, ...amountsOf(sides) };
          });
        if (cli.json) {
          cli.printJson({ months: monthRows, tenants: tenantRows });
          return;
        }
        cli.print(renderTable(monthRows, [{ key: 'period', header: 'Period' }, ...AMOUNTS], cli.tableOptions));
        cli.print('');
        const shown = tenantRows.slice(0, SHOWN_TENANTS);
        const isNamed = shown.some(({ display_name }) => display_name !== null);
        const name = isNamed ? [{ key: 'display_name', header: 'Name' } as const] : [];
        cli.print(renderTable(shown, [{ key: 'tenant_id', header: 'Tenant' }, ...name, ...AMOUNTS], cli.tableOptions));
      }),
    );
}

const AMOUNTS = [
  { key: 'now', header: 'Now', align: 'right', format: formatDecimal },
  { key: 'other', header: 'With the file', align: 'right', format: formatDecimal },
  { key: 'difference', header: 'Difference', align: 'right', format: formatDecimal },
  { key: 'currency', header: '' },
] as const;

function amountsOf({ currency, nowMinor, otherMinor }: { currency: string; nowMinor: bigint; otherMinor: bigint }) {
  return {
    currency,
    now: formatMinor(nowMinor, currency),
    other: formatMinor(otherMinor, currency),
    difference: formatMinor(otherMinor - nowMinor, currency),
  };
}
