import { formatMinor } from '../../core/money.ts';
import { type Cell, figure } from '../../look/parts.tsx';
import { formatDecimal } from '../formats/columns.ts';

/** Builds a table cell that shows an amount without its currency code. */
export function amountCell(amountMinor: bigint, currency: string): Cell {
  return figure(formatDecimal(formatMinor(amountMinor, currency)));
}
