import { resolve } from 'node:path';
import { compareCards } from '../../billing/rates/compare-cards.ts';
import { PeriodPricer } from '../../billing/rates/period-pricer.ts';
import { resolveRateCard } from '../../billing/rates/rate-card.ts';
import type { RateCardText } from '../../billing/rates/rate-card-schema.ts';
import { loadRates } from '../../config/reading/load-rates.ts';
import { UsageError } from '../../core/errors.ts';
import { formatMinor } from '../../core/money.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { pricerOfPeriod } from '../../ledger/journal/charges/credit-pricer.ts';
import { tenantNames } from '../../ledger/store/tenant-names.ts';
import type { Column } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { recordedUsage } from '../../reports/queries/recorded-usage.ts';
import type { Context } from '../../wiring/context.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import type { CliContext } from '../shared/cli-context.ts';

/** Tenants that are shown without --json unless something else is said. */
const SHOWN_TENANTS = 20;

/** The cards of a file, or without one of the configuration. */
export function givenCards(cli: CliContext, context: Context, file: string | undefined): readonly RateCardText[] {
  if (file !== undefined) {
    const cards = loadRates(resolve(cli.io.cwd, file), cli.io.env);
    for (const { name, workspace } of cards) requireKnownWorkspace(context, workspace, `${name}: workspace`);
    return cards;
  }
  const { config } = context;
  if (config.rates !== null && config.rates.length > 0) return config.rates;
  throw new UsageError('the configuration has no `rates:`', 'name a file with rate cards, or write them there');
}

export type RatesComparison = ReturnType<typeof comparisonWith>;

/** What months and tenants cost by the cards that hold for each month, and by others. */
export function comparisonWith(context: Context, cards: readonly RateCardText[], { onlyOpen }: { onlyOpen: boolean }) {
  const { connection } = context.reader();
  const others = cards.map(resolveRateCard);
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

export function putComparison(
  cli: CliContext,
  { months, tenants, unpriced }: RatesComparison,
  limit = cli.json ? tenants.length : SHOWN_TENANTS,
): void {
  const shown = tenants.slice(0, limit);
  if (cli.json) {
    cli.printJson({ months, tenants: shown, unpriced });
    return;
  }
  cli.print(renderTable(months, MONTH_COLUMNS, cli.tableOptions));
  cli.print('');
  cli.print(renderTable(shown, COMPARED_COLUMNS, cli.tableOptions));
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
