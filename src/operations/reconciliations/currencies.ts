import type { StatementDocument } from '../../billing/statement/document.ts';
import { InputError, UsageError } from '../../core/errors.ts';
import { isCurrency, parseMinor } from '../../core/money.ts';
import type { InvoiceLine, MappedColumns } from './sides.ts';

/** The names of the file's columns, and the currency of a file that has no currency column. */
export type CurrencyOptions = MappedColumns;

/**
 * Returns the currency of all amounts in a file without a currency column. Returns null if the file has such a column,
 * or no amounts.
 */
export function currencyOf({ totals }: StatementDocument, options: CurrencyOptions): string | null {
  const { currency, amountColumn, currencyColumn } = options;
  if (currency !== undefined && !isCurrency(currency)) {
    throw new InputError(
      (nameOf) => `${nameOf('currency')} ${JSON.stringify(currency)} is not an ISO 4217 code`,
      'use a currency such as EUR',
    );
  }
  if (amountColumn === undefined || currencyColumn !== undefined) return null;
  if (currency !== undefined) return currency;
  const [only, ...others] = totals.map((total) => total.currency);
  if (only === undefined) throw new UsageError('the period has no amounts', 'apply rate cards first');
  if (others.length === 0) return only;
  throw new InputError(
    (nameOf) => `${nameOf('currency')} is required: the period has several currencies`,
    (nameOf) =>
      `add ${nameOf('currency_column')}, or ${nameOf('currency')} with one of ${[only, ...others].join(', ')}`,
  );
}

/** Returns the currencies to compare. If no amounts are compared, the list contains null as its only item. */
export function comparedCurrencies(
  { totals }: StatementDocument,
  invoices: readonly InvoiceLine[],
  { only, options }: { only: string | null; options: CurrencyOptions },
): (string | null)[] {
  if (only !== null || options.amountColumn === undefined) return [only];
  if (options.currency !== undefined) return [options.currency];
  const all = [...totals.map(({ currency }) => currency), ...invoices.flatMap(({ currency }) => currency ?? [])];
  return [...new Set(all)];
}

export function parseTolerance(currency: string | null, tolerance: string): bigint {
  const minor = currency === null ? 0n : parseMinor(tolerance, currency);
  if (minor !== null) return minor;
  throw new InputError((nameOf) => `${nameOf('tolerance')} is not an amount`, 'use an amount such as 0.05');
}
