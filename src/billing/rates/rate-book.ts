import type { Period } from '../../core/period.ts';
import { matchesPattern } from '../../core/text/patterns.ts';
import type { RateCard } from './rate-card.ts';

/** Gives the card that prices a tenant of one workspace in one period, or null when none does. */
export type CardChooser<Card extends RateCard = RateCard> = (tenantId: string) => Card | null;

/**
 * Chooses among cards for one workspace and period. The most specific wins: a tenant's id before a pattern, a longer
 * pattern before a shorter one, a pattern before every tenant; then the card of this workspace before one for all; then
 * the latest `fromPeriod`.
 */
export function chooserFor<Card extends RateCard>(
  cards: readonly Card[],
  workspaceId: string,
  period: Period,
): CardChooser<Card> {
  const fitting = cards
    .filter((card) => card.workspace === null || card.workspace === workspaceId)
    .filter((card) => card.fromPeriod <= period && (card.toPeriod === null || card.toPeriod >= period))
    .sort(mostSpecificFirst);
  const byId = new Map<string, Card>();
  for (const card of fitting) {
    if (card.tenant !== null && !isPattern(card.tenant) && !byId.has(card.tenant)) byId.set(card.tenant, card);
  }
  const others = fitting.filter((card) => card.tenant === null || isPattern(card.tenant));
  return (tenantId) =>
    byId.get(tenantId) ?? others.find((card) => card.tenant === null || matchesPattern(card.tenant, tenantId)) ?? null;
}

function mostSpecificFirst(a: RateCard, b: RateCard): number {
  return (
    specificity(b) - specificity(a) ||
    Number(b.workspace !== null) - Number(a.workspace !== null) ||
    (a.fromPeriod < b.fromPeriod ? 1 : a.fromPeriod > b.fromPeriod ? -1 : 0) ||
    // Two patterns of one length: any order will do, as long as it is always the same.
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
}

function specificity({ tenant }: RateCard): number {
  if (tenant === null) return -1;
  return isPattern(tenant) ? tenant.length : Number.MAX_SAFE_INTEGER;
}

function isPattern(tenant: string): boolean {
  return tenant.includes('*');
}
