import { cardsInConfig, compareCardsWithForce } from '../../ledger/journal/charges/card-store.ts';
import type { Scope } from '../operation.ts';

/**
 * Returns a note if the configured rate cards differ from the active ones; null otherwise. They can differ here,
 * because an operation that only reads does not apply the configured cards.
 */
export function otherRatesNote({ context, connection }: Pick<Scope, 'context' | 'connection'>): string | null {
  const { added, retired } = compareCardsWithForce(connection, cardsInConfig(context.config));
  if (added.length + retired.length === 0) return null;
  return 'The configured rate cards differ from the active ones: `usage-ledger rates apply` shows the difference.';
}
