import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RateCard } from '../../../src/billing/rates/rate-card.ts';
import type { RateCardText } from '../../../src/billing/rates/rate-card-schema.ts';

const PLAIN: Omit<RateCard, 'name' | 'fromPeriod' | 'currency' | 'pricing'> = {
  ...{ toPeriod: null, workspace: null, tenant: null, priority: 0, includedCredits: 0, creditNegative: false },
  ...{ minimum: null, minimumNeedsUsage: false, discountPercent: null, pricePerRequest: null, rounding: 'half_even' },
};

function flat(pricePerCredit: string): RateCard['pricing'] {
  return { model: 'graduated', tiers: [{ upTo: null, pricePerCredit }] };
}

function tiers(model: 'graduated' | 'volume', upTo: number, [below, above]: [string, string]): RateCard['pricing'] {
  const first = { upTo, pricePerCredit: below };
  return { model, tiers: [first, { upTo: null, pricePerCredit: above }] };
}

/** What people put into force, one set at a time. Names tell all cards apart. */
const SETS: readonly (readonly RateCard[])[] = [
  [
    {
      ...{ ...PLAIN, name: 'a-all', fromPeriod: '2025-01', currency: 'EUR', includedCredits: 1000, minimum: '50.00' },
      ...{ pricing: tiers('graduated', 10_000, ['0.0125', '0.01']), discountPercent: '10' },
    },
    { ...PLAIN, name: 'a-acme', fromPeriod: '2025-01', currency: 'EUR', tenant: 'acme', pricing: flat('0.009') },
  ],
  [
    {
      ...{ ...PLAIN, name: 'b-pattern', fromPeriod: '2025-01', currency: 'EUR', tenant: 'tenant-*', minimum: '20' },
      ...{ pricing: tiers('volume', 5000, ['0.025', '0.015']), minimumNeedsUsage: true, rounding: 'half_up' },
    },
    {
      ...{ ...PLAIN, name: 'b-all', fromPeriod: '2025-01', currency: 'EUR', creditNegative: true },
      ...{ pricing: { model: 'package', credits: 500, price: '3.75' } },
    },
    { ...PLAIN, name: 'b-one', fromPeriod: '2025-01', currency: 'KWD', tenant: 'tenant-1', pricing: flat('0.0015') },
  ],
  [{ ...PLAIN, name: 'c-all', fromPeriod: '2025-01', currency: 'JPY', minimum: '100', pricing: flat('0.3') }],
  [
    { ...PLAIN, name: 'd-first', fromPeriod: '2026-05', currency: 'EUR', workspace: 'ws-0', pricing: flat('0.001') },
    { ...PLAIN, name: 'd-later', fromPeriod: '2026-06', currency: 'EUR', minimum: '5', pricing: flat('0.002') },
    {
      ...PLAIN,
      name: 'd-earlier',
      fromPeriod: '2025-01',
      currency: 'EUR',
      toPeriod: '2026-05',
      pricing: flat('0.003'),
    },
  ],
];

export const CARDS: ReadonlyMap<string, RateCard> = new Map(SETS.flat().map((card) => [card.name, card]));

/** Writes each set into a file of its own. */
export function writeRateFiles(folder: string): void {
  for (const [index, cards] of SETS.entries()) {
    // JSON is YAML.
    writeFileSync(join(folder, `rates-${index}.yml`), JSON.stringify({ rates: cards.map(textOf) }));
  }
}

/** What is typed to put one of the sets into force, or none. */
export function ratesCommand(choice: number): string[] {
  const index = choice % (SETS.length + 1);
  return index === SETS.length ? ['rates', 'clear', '--yes'] : ['rates', 'apply', `rates-${index}.yml`, '--yes'];
}

function textOf(card: RateCard): RateCardText {
  const { pricing, includedCredits, minimum, discountPercent, toPeriod, workspace, tenant } = card;
  return {
    ...{ name: card.name, from_period: card.fromPeriod, currency: card.currency, rounding: card.rounding },
    ...{ included_credits: includedCredits, credit_negative: card.creditNegative },
    ...{ minimum_needs_usage: card.minimumNeedsUsage },
    ...(minimum === null ? {} : { minimum }),
    ...(discountPercent === null ? {} : { discount_percent: discountPercent }),
    ...(toPeriod === null ? {} : { to_period: toPeriod }),
    ...(workspace === null ? {} : { workspace }),
    ...(tenant === null ? {} : { tenant }),
    ...(pricing.model === 'package'
      ? { package: { credits: pricing.credits, price: pricing.price } }
      : {
          [pricing.model]: pricing.tiers.map(({ upTo, pricePerCredit }) => ({
            ...(upTo === null ? {} : { up_to: upTo }),
            price_per_credit: pricePerCredit,
          })),
        }),
  };
}
