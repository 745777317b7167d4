import type { Pricing, RateCard } from '../../../billing/rates/rate-card.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';

/** Describes what a rate card charges: `0.01 per credit, 0.002 per request, at least 5.00`. */
export function priceText(card: RateCard): string {
  const { pricing, pricePerRequest, includedCredits, minimum, discountPercent } = card;
  const parts = [
    tierCreditsText(pricing),
    includedCredits === 0 ? null : `${formatInteger(includedCredits)} credits included`,
    pricePerRequest === null ? null : `${pricePerRequest} per request`,
    minimum === null ? null : `at least ${minimum}`,
    discountPercent === null ? null : `${discountPercent}% discount`,
  ];
  return parts.filter((part) => part !== null).join(', ');
}

function tierCreditsText(pricing: Pricing): string {
  if (pricing.model === 'package') return `${pricing.price} per ${formatInteger(pricing.credits)} credits begun`;
  const { model, tiers } = pricing;
  const [first] = tiers;
  const last = tiers.at(-1);
  if (first === undefined || last === undefined || tiers.length === 1)
    return `${first?.pricePerCredit ?? 0} per credit`;
  return `${first.pricePerCredit} to ${last.pricePerCredit} per credit, ${tiers.length} ${model} tiers`;
}
