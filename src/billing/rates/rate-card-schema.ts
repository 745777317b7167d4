import { z } from 'zod';
import { isCurrency, minorDigits, ROUNDINGS } from '../../core/money.ts';
import { isPeriod } from '../../core/period.ts';

const word = z.string().trim().min(1);
const period = word.refine(isPeriod, { error: 'is not a month, YYYY-MM' });
const decimal = z
  .string()
  .trim()
  .regex(/^\d{1,18}(\.\d{1,18})?$/, { error: 'is not a plain decimal of at most 18 digits on each side of the point' });
const wholeCredits = (least: number) => z.int().min(least).max(Number.MAX_SAFE_INTEGER);

const tiers = z.array(z.strictObject({ up_to: wholeCredits(1).optional(), price_per_credit: decimal })).min(1);

const PRICINGS = ['price_per_credit', 'graduated', 'volume', 'package'] as const;

/** One rate card as it is written in a file. */
export const rateCardSchema = z
  .strictObject({
    name: word,
    from_period: period,
    to_period: period.optional(),
    workspace: word.optional(),
    tenant: word.optional(),
    priority: z.int().min(-1000).max(1000).optional(),
    currency: word.refine(isCurrency, { error: 'is not a currency of ISO 4217, such as EUR' }),
    credit_negative: z.boolean().optional(),
    included_credits: wholeCredits(0).optional(),
    price_per_credit: decimal.optional(),
    graduated: tiers.optional(),
    volume: tiers.optional(),
    package: z.strictObject({ credits: wholeCredits(1), price: decimal }).optional(),
    minimum: decimal.optional(),
    minimum_needs_usage: z.boolean().optional(),
    discount_percent: decimal.optional(),
    rounding: z.enum(ROUNDINGS).optional(),
  })
  .superRefine((card, context) => {
    const fault = (path: (string | number)[], message: string): void => {
      context.addIssue({ code: 'custom', path, message });
    };
    const given = PRICINGS.filter((key) => card[key] !== undefined);
    if (given.length === 0) fault(['price_per_credit'], `is missing: a card has one of ${PRICINGS.join(', ')}`);
    for (const extra of given.slice(1)) fault([extra], `stands beside ${given[0]}, and it is unclear which counts`);
    for (const model of ['graduated', 'volume'] as const) {
      card[model]?.forEach(({ up_to }, index, all) => {
        const before = all[index - 1]?.up_to ?? 0;
        const path = [model, index, 'up_to'];
        if (up_to === undefined && index < all.length - 1) fault(path, 'is missing: only the last tier has no limit');
        if (up_to !== undefined && index === all.length - 1) fault(path, 'stands on the last tier, which has no limit');
        if (up_to !== undefined && up_to <= before) fault(path, 'is not above the tier before it');
      });
    }
    if (card.to_period !== undefined && card.to_period < card.from_period) {
      fault(['to_period'], 'lies before from_period');
    }
    const decimals = card.minimum?.split('.')[1]?.length ?? 0;
    if (isCurrency(card.currency) && decimals > minorDigits(card.currency)) {
      fault(['minimum'], `has more decimals than ${card.currency} has`);
    }
    if (card.discount_percent !== undefined && !/^0*(100(\.0*)?|\d{1,2}(\.\d*)?)$/.test(card.discount_percent)) {
      fault(['discount_percent'], 'is above 100');
    }
  });

export type RateCardText = z.infer<typeof rateCardSchema>;

/** A list of cards, of which no two leave open which one counts: the same scope from the same period on. */
export const rateCardsSchema = z.array(rateCardSchema).superRefine((cards, context) => {
  const scopes = cards.map(({ workspace, tenant, from_period, priority = 0 }) =>
    JSON.stringify([workspace, tenant, from_period, priority]),
  );
  scopes.forEach((scope, index) => {
    const first = scopes.indexOf(scope);
    if (first === index) return;
    const message = `is that of ${cards[first]?.name}, for the same workspace and tenant: it is unclear which counts`;
    context.addIssue({ code: 'custom', path: [index, 'from_period'], message });
  });
});
