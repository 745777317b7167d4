import { formatInteger } from '../../reports/formats/format.ts';
import type { CliContext } from './cli-context.ts';
import { parseWholeNumber } from './whole-number.ts';

/** How many rows are wanted. */
export const parseLimit = (text: string): number => parseWholeNumber(text, '--limit', 1, 1_000_000_000);

/** For a list. */
export const LIMIT_OPTION = ['--limit <number>', 'show at most so many', parseLimit] as const;

/** The first rows; says how many are left out. */
export function firstRows<Row>(cli: CliContext, rows: readonly Row[], limit: number | undefined): Row[] {
  const shown = rows.slice(0, limit);
  noteMore(cli, rows.length - shown.length);
  return shown;
}

/** How many rows were left out, if any. */
export function noteMore(cli: CliContext, count: number): void {
  if (count > 0) cli.note(`${formatInteger(count)} more`);
}
