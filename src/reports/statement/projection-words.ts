import type { DocumentTenant, StatementDocument } from '../../billing/statement/document.ts';
import { formatDecimal, formatInteger } from '../formats/columns.ts';

/**
 * Formats the forecast of an open month, such as `2,000 credits and 20.00 EUR`. Returns null if there is no forecast or
 * if the forecast is zero.
 */
export function projectionWords({
  projected_credits: credits,
  projected_totals: totals = [],
}:
  | Pick<StatementDocument, 'projected_credits' | 'projected_totals'>
  | Pick<DocumentTenant, 'projected_credits' | 'projected_totals'>): string | null {
  if (credits == null || (credits === 0n && totals.length === 0)) return null;
  const amounts = totals.map(({ amount, currency }) => `${formatDecimal(amount)} ${currency}`);
  return [`${formatInteger(credits)} credits`, ...amounts].join(' and ');
}
