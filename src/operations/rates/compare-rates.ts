import { z } from 'zod';
import { compareCards } from '../../billing/rates/compare-cards.ts';
import { PeriodPricer } from '../../billing/rates/period-pricer.ts';
import { resolveRateCard } from '../../billing/rates/rate-card.ts';
import { type RateCardText, rateCardsSchema } from '../../billing/rates/rate-card-schema.ts';
import { UsageError } from '../../core/errors.ts';
import { formatMinor } from '../../core/money.ts';
import {
  cardsInConfig,
  cardsInForce,
  type ReplacementCards,
  refuseAmbiguousCards,
} from '../../ledger/journal/charges/card-store.ts';
import { pricerOfPeriod } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { tenantNameLookup } from '../../ledger/store/tenant-names.ts';
import { recordedUsage } from '../../reports/queries/usage.ts';
import { documentOperation, type Scope } from '../operation.ts';
import { decimalText, periodText } from '../schemas.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';

/** The schema of the rate cards in a request. If the request has none, the cards of the configuration are used. */
export const cardFields = {
  rates: rateCardsSchema
    .optional()
    .describe('the prices to compare; if both `rates` and `costs` are missing, those of the configuration'),
  costs: rateCardsSchema.optional().describe('the provider costs'),
};

export const totalsField = {
  totals_only: z
    .boolean()
    .optional()
    .describe('true leaves out `tenants` and `unpriced`, which have a row for each tenant'),
};

/** The parsed rate cards of a request. */
export interface CardInput {
  rates?: RateCardText[] | undefined;
  costs?: RateCardText[] | undefined;
}

const sides = {
  currency: z.string(),
  now: decimalText.describe('under the active cards'),
  other: decimalText.describe('under these cards'),
  difference: decimalText,
};

export const comparisonShape = {
  months: z.array(z.strictObject({ period: periodText, ...sides })),
  tenants: z
    .array(
      z.strictObject({
        workspace_id: z.string(),
        tenant_id: z.string(),
        display_name: z.string().nullable(),
        ...sides,
      }),
    )
    .describe('tenants whose amount differs'),
  unpriced: z.array(
    z.strictObject({
      workspace_id: z.string(),
      tenant_id: z.string(),
      period: periodText,
      why: z.string(),
    }),
  ),
};

export const checkRates = documentOperation({
  name: 'rates.check',
  summary: 'Price the recorded history with these rate cards and with the active ones',
  details:
    'Shows what other prices would have charged: the amounts of each month under the given cards beside those under the active ones. It changes nothing.',
  role: 'read',
  input: z.strictObject({
    ...cardFields,
    open_only: z.boolean().optional().describe('only months that are not closed'),
    ...totalsField,
  }),
  output: z.strictObject(comparisonShape),
  http: { method: 'POST', path: '/rates/check' },
  command: 'rates check',
  isSlow: true,
  run(scope, { open_only: onlyOpen = false, totals_only: totalsOnly = false, ...input }) {
    const { rates } = requestedCards(scope, input).cards;
    if (rates !== null) refuseAmbiguousCards(rates);
    const compared = compareRates(scope.connection, rates, { onlyOpen });
    return totalsOnly ? { ...compared, tenants: [], unpriced: [] } : compared;
  },
});

export type RatesComparison = ReturnType<typeof compareRates>;

/** The rate cards to use, and where they are from. */
interface RequestedCards {
  cards: ReplacementCards;
  source: 'configuration' | 'import';
}

/**
 * Returns the rate cards of a request. If the request has none, returns those of the configuration. Throws UsageError
 * if the configuration has none, either.
 */
export function requestedCards(scope: Scope, { rates, costs }: CardInput): RequestedCards {
  if (rates !== undefined || costs !== undefined) {
    for (const { name, workspace } of [...(rates ?? []), ...(costs ?? [])]) {
      requireKnownWorkspace(scope, workspace, `${name}: workspace`);
    }
    return { cards: { rates: rates ?? null, costs: costs ?? null }, source: 'import' };
  }
  const configured = cardsInConfig(scope.context.config);
  if (configured.rates !== null || configured.costs !== null) return { cards: configured, source: 'configuration' };
  throw new UsageError(
    'the configuration has no `rates:`',
    'name a file with rate cards, or add them to the configuration',
  );
}

/**
 * Compares two ways of pricing months and tenants: with the active cards, and with `cards`. If `cards` is null, both
 * sides use the active cards.
 */
function compareRates(connection: LedgerDb, cards: ReplacementCards['rates'], { onlyOpen }: { onlyOpen: boolean }) {
  const others = cards?.map(resolveRateCard) ?? cardsInForce(connection);
  return connection.transaction(() => {
    const nameOf = tenantNameLookup(connection);
    const { months, tenants, unpriced } = compareCards(
      recordedUsage(connection, onlyOpen ? { isClosed: false } : {}),
      (workspaceId, period) => pricerOfPeriod(connection, workspaceId, period),
      (workspaceId, period) => new PeriodPricer(others, workspaceId, period),
    );
    return {
      months: months.map(({ period, ...amounts }) => ({ period, ...amountsOf(amounts) })),
      tenants: tenants
        .filter(({ nowMinor, otherMinor }) => nowMinor !== otherMinor)
        .map(({ workspaceId, tenantId, ...amounts }) => {
          const display_name = nameOf(workspaceId, tenantId);
          return { workspace_id: workspaceId, tenant_id: tenantId, display_name, ...amountsOf(amounts) };
        }),
      unpriced: unpriced.map(({ workspaceId, tenantId, period, why }) => {
        return { workspace_id: workspaceId, tenant_id: tenantId, period, why };
      }),
    };
  })();
}

function amountsOf({ currency, nowMinor, otherMinor }: { currency: string; nowMinor: bigint; otherMinor: bigint }) {
  return {
    currency,
    now: formatMinor(nowMinor, currency),
    other: formatMinor(otherMinor, currency),
    difference: formatMinor(otherMinor - nowMinor, currency),
  };
}
