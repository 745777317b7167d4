import fc from 'fast-check';
import type { RateCardText } from '../../../src/billing/rates/rate-card-schema.ts';

const price = fc.constantFrom('0.0125', '0.005', '0.000000000000000001', '0', '9.5');
const tier = (upTo: number) => price.map((price_per_credit) => ({ up_to: upTo, price_per_credit }));
const tiers = fc
  .tuple(tier(100), tier(1000), price)
  .map(([first, second, last]) => [...[first, second, { price_per_credit: last }]]);
const pricing = fc.oneof(
  price.map((price_per_credit) => ({ price_per_credit })),
  tiers.map((graduated) => ({ graduated })),
  tiers.map((volume) => ({ volume })),
  fc.constantFrom('9', '1').map((packagePrice) => ({ package: { credits: 1000, price: packagePrice } })),
);
const cardText = fc
  .record({
    tenant: fc.constantFrom(undefined, undefined, 'acme', 'a*', '*e', 'ap*'),
    pricing,
    terms: fc.record({
      from_period: fc.constantFrom('2026-01', '2026-01', '2026-02'),
      currency: fc.constantFrom('EUR', 'JPY', 'KWD'),
      priority: fc.constantFrom(0, 0, 0, 1),
      included_credits: fc.constantFrom(0, 100),
      minimum: fc.constantFrom('10', '0', '50'),
      discount_percent: fc.constantFrom('0', '2.5'),
      rounding: fc.constantFrom<'half_even' | 'half_up'>('half_even', 'half_up'),
      credit_negative: fc.boolean(),
      minimum_needs_usage: fc.constantFrom(false, false, true),
      price_per_request: fc.constantFrom(undefined, undefined, '0.0005', '1'),
    }),
  })
  .map(({ tenant, pricing: priced, terms }): RateCardText => {
    const name = `${tenant ?? 'all'} ${JSON.stringify(priced)}`.slice(0, 60);
    const { price_per_request, ...others } = terms;
    return {
      ...{ name, ...others, ...priced, ...(tenant && { tenant }) },
      ...(price_per_request && { price_per_request }),
    };
  });
const flatCard = fc
  .record({
    price_per_credit: price,
    rounding: fc.constantFrom<'half_even' | 'half_up'>('half_even', 'half_up'),
    from_period: fc.constantFrom('2026-01', '2026-02'),
  })
  .map((card): RateCardText => ({ name: 'flat', currency: 'EUR', priority: 2, ...card }));
/** Up to four cards, no two of the same tenants, first month and priority. */
export const cards = fc.uniqueArray(fc.oneof({ weight: 4, arbitrary: cardText }, { weight: 1, arbitrary: flatCard }), {
  maxLength: 4,
  selector: (card) => `${card.tenant} ${card.from_period} ${card.priority}`,
});
