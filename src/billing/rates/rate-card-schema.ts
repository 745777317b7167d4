import { z } from 'zod';
import { isCurrency, minorDigits, ROUNDINGS } from '../../core/money.ts';
import { isPeriod } from '../../core/period.ts';
import { flag, integerBetween, nonEmptyString, setting } from '../../core/text/setting-kinds.ts';

const period = nonEmptyString.refine(isPeriod, { error: 'is not a month, YYYY-MM' });
const decimal = z
  .string()
  .trim()
  .regex(/^\d{1,18}(\.\d{1,18})?$/, { error: 'is not a plain decimal of at most 18 digits on each side of the point' });
const wholeCredits = (least: number) => integerBetween(least, Number.MAX_SAFE_INTEGER);
const PRICE = 'Give a decimal in quotes, such as "0.0125"';

const tiers = setting(
  z
    .array(
      z.strictObject({
        up_to: setting(
          wholeCredits(1),
          'Give the last credit of the tier, a whole number above that of the previous tier; leave it out on the last tier',
        ),
        price_per_credit: decimal.describe(PRICE),
      }),
    )
    .min(1),
  'List tiers, each with `price_per_credit:` and all but the last with `up_to:`',
);

const packages = z.strictObject({
  credits: wholeCredits(1).describe('Give the credits in a package, a whole number'),
  price: decimal.describe('Give the price of a package, a decimal in quotes, such as "9.50"'),
});

const PRICINGS = ['price_per_credit', 'graduated', 'volume', 'package'] as const;

export const rateCardSchema = z
  .strictObject({
    name: nonEmptyString.describe('Give a name that people will recognize'),
    from_period: period.describe('Give the first month that the card prices, as YYYY-MM'),
    to_period: setting(period, 'Give the last month that the card prices, as YYYY-MM, or remove the line'),
    workspace: setting(nonEmptyString, "Give a workspace's id, or remove the line for every workspace"),
    tenant: setting(
      nonEmptyString,
      'Give a tenant id, in which * stands for anything, or remove the line for every tenant',
    ),
    priority: setting(integerBetween(-1000, 1000), 'Give a whole number (the highest wins), or remove the line'),
    currency: nonEmptyString
      .refine(isCurrency, { error: 'is not a currency of ISO 4217, such as EUR' })
      .describe('Give a code of ISO 4217, such as EUR'),
    credit_negative: setting(flag, 'Write true to pay back credits below 0, or remove the line to price them as 0'),
    included_credits: setting(wholeCredits(0), 'Give a whole number of credits, such as 1000, or remove the line'),
    price_per_credit: setting(decimal, PRICE),
    price_per_request: setting(decimal, 'Give a decimal in quotes, such as "0.0002", or remove the line'),
    graduated: tiers,
    volume: tiers,
    package: setting(packages, 'Write `package: { credits: 1000, price: "9.50" }` with your figures'),
    minimum: setting(decimal, 'Give the minimum charge, a decimal in quotes such as "50.00", or remove the line'),
    minimum_needs_usage: setting(flag, 'Write true to charge no minimum without usage, or remove the line'),
    discount_percent: setting(decimal, 'Give a decimal in quotes from "0" to "100", or remove the line'),
    rounding: setting(z.enum(ROUNDINGS), 'Choose half_even or half_up'),
  })
  .superRefine((card, context) => {
    const fault = (path: (string | number)[], message: string): void => {
      context.addIssue({ code: 'custom', path, message });
    };
    const pricings = PRICINGS.filter((key) => card[key] !== undefined);
    if (pricings.length === 0 && card.price_per_request === undefined)
      fault(['price_per_credit'], `is missing: use one of ${PRICINGS.join(', ')}, or price_per_request alone`);
    for (const extra of pricings.slice(1)) fault([extra], `conflicts with ${pricings[0]}: keep one of them`);
    for (const model of ['graduated', 'volume'] as const) {
      card[model]?.forEach(({ up_to }, index, all) => {
        const before = all[index - 1]?.up_to ?? 0;
        const path = [model, index, 'up_to'];
        if (up_to === undefined && index < all.length - 1) fault(path, 'is missing: only the last tier has no limit');
        if (up_to !== undefined && index === all.length - 1)
          fault(path, 'is not allowed on the last tier, which has no limit');
        if (up_to !== undefined && up_to <= before) fault(path, 'is not above the previous tier');
      });
    }
    if (card.to_period !== undefined && card.to_period < card.from_period) {
      fault(['to_period'], 'is before from_period');
    }
    const decimals = card.minimum?.split('.')[1]?.length ?? 0;
    if (isCurrency(card.currency) && decimals > minorDigits(card.currency)) {
      fault(['minimum'], `has more decimals than ${card.currency} allows`);
    }
    if (card.discount_percent !== undefined && !/^0*(100(\.0*)?|\d{1,2}(\.\d*)?)$/.test(card.discount_percent)) {
      fault(['discount_percent'], 'is above 100');
    }
  });

export type RateCardText = z.infer<typeof rateCardSchema>;

/**
 * A list of rate cards without conflicts. Two cards for the same workspace, tenant and priority must have different
 * first months. Two cards with the same name must cover different months.
 */
export const rateCardsSchema = z.array(rateCardSchema).superRefine((cards, context) => {
  cards.forEach(({ name, ...card }, index) => {
    const isBefore = (a: typeof card, b: typeof card) => a.to_period !== undefined && a.to_period < b.from_period;
    const others = cards.slice(0, index).filter((other) => other.name === name);
    if (others.every((other) => isBefore(other, card) || isBefore(card, other))) return;
    const message = `is used by another card in the same months, ${JSON.stringify(name)}: statements identify cards by name`;
    context.addIssue({ code: 'custom', path: [index, 'name'], message });
  });
  const scopes = cards.map(({ workspace, tenant, from_period, priority = 0 }) =>
    JSON.stringify([workspace, tenant, from_period, priority]),
  );
  scopes.forEach((scope, index) => {
    const first = scopes.indexOf(scope);
    if (first === index) return;
    const message = `is the same as that of card ${JSON.stringify(cards[first]?.name)} for the same workspace and tenant: change one, or give them different priorities`;
    context.addIssue({ code: 'custom', path: [index, 'from_period'], message });
  });
});
