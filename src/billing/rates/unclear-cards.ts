import { includesPattern, patternsOverlap } from '../../core/text/patterns.ts';
import type { RateCardText } from './rate-card-schema.ts';

/**
 * Pairs of cards of which nobody can say which one counts, whoever the tenants are: patterns that overlap, of which neither
 * includes the other, with the same priority. A sentence each.
 */
export function unclearCards(cards: readonly RateCardText[]): string[] {
  return cards.flatMap((card, index) =>
    cards.slice(index + 1).flatMap((other) => {
      if (!areUnclear(card, other)) return [];
      return [`${nameOf(card)} and ${nameOf(other)} overlap, and neither is the more specific`];
    }),
  );
}

function areUnclear(a: RateCardText, b: RateCardText): boolean {
  if (a.tenant?.includes('*') !== true || b.tenant?.includes('*') !== true) return false;
  if ((a.priority ?? 0) !== (b.priority ?? 0)) return false;
  if (a.workspace !== undefined && b.workspace !== undefined && a.workspace !== b.workspace) return false;
  if (!reaches(a, b) || !reaches(b, a)) return false;
  if (includesPattern(a.tenant, b.tenant) || includesPattern(b.tenant, a.tenant)) return false;
  return patternsOverlap(a.tenant, b.tenant);
}

/** Whether a card still prices when another one begins. */
function reaches({ to_period }: RateCardText, { from_period }: RateCardText): boolean {
  return to_period === undefined || to_period >= from_period;
}

function nameOf({ name, tenant }: RateCardText): string {
  return `card ${JSON.stringify(name)} (${tenant})`;
}
