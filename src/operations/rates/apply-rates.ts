import { z } from 'zod';
import { UsageError } from '../../core/errors.ts';
import { cardsInConfig, compareCardsWithForce, refuseAmbiguousCards } from '../../ledger/journal/charges/card-store.ts';
import type { Context } from '../../wiring/context.ts';
import { type ChangeResult, changeOperation, runIncludedRead, type Scope } from '../operation.ts';
import { previewField } from '../schemas.ts';
import {
  type CardInput,
  cardFields,
  checkRates,
  comparisonShape,
  requestedCards,
  totalsField,
} from './compare-rates.ts';

const output = z.strictObject({
  applied: z.boolean().describe('false after a dry run, and if these cards were active already'),
  cards: z.int().describe('the number of cards'),
  added: z.array(z.string()),
  retired: z.array(z.string()),
  ...comparisonShape,
});

export const applyRates = changeOperation({
  name: 'rates.apply',
  summary: 'Replace all rate cards; open months are repriced, closed months are unchanged',
  role: 'finance',
  input: z.strictObject({ ...cardFields, ...previewField, ...totalsField }),
  output,
  http: { method: 'POST', path: '/rates' },
  command: 'rates apply',
  isSlow: true,
  run(scope, { dry_run: dryRun, ...input }) {
    if (input.rates !== undefined || input.costs !== undefined) refuseConfigured(scope.context);
    return replaceCards(scope, input, dryRun);
  },
});

export const clearRates = changeOperation({
  name: 'rates.clear',
  summary: 'Remove all rate cards; open months lose their amounts, closed months are unchanged',
  role: 'finance',
  input: z.strictObject(previewField),
  output,
  http: { method: 'POST', path: '/rates/clear' },
  command: 'rates clear',
  run(scope, { dry_run: dryRun }) {
    refuseConfigured(scope.context);
    return replaceCards(scope, { rates: [], costs: [] }, dryRun);
  },
});

/**
 * Throws UsageError if the configuration has rate cards, because the daemon would apply the configured cards again at
 * its next start.
 */
function refuseConfigured({ config }: Context): void {
  const { rates, costs } = cardsInConfig(config);
  if (rates === null && costs === null) return;
  throw new UsageError(
    `the configuration has \`${rates === null ? 'costs' : 'rates'}:\``,
    'change the cards there, or remove them and try again',
  );
}

async function replaceCards(
  scope: Scope,
  input: CardInput & { totals_only?: boolean | undefined },
  dryRun: boolean,
): Promise<ChangeResult<z.output<typeof output>>> {
  const { cards, source } = requestedCards(scope, input);
  const { rates, costs } = cards;
  for (const side of [rates, costs]) if (side !== null) refuseAmbiguousCards(side);
  const { context } = scope;
  // The writer is opened first, because it creates the ledger if there is none.
  const writer = dryRun ? null : await context.writer();
  const { connection } = scope;
  const changed = compareCardsWithForce(connection, cards);
  const hasChanged = changed.added.length + changed.retired.length > 0;
  const { members, rendered } = await runIncludedRead(scope, checkRates, { ...input, open_only: true });
  if (hasChanged) await writer?.setCards({ cards: rates, costs, source, nowMs: context.clock.now() });
  const count = (rates?.length ?? 0) + (costs?.length ?? 0);
  const document = { applied: !dryRun && hasChanged, cards: count, ...changed, ...members };
  return { applied: !dryRun, document, rendered, notes: [] };
}
