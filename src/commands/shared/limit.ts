import type { Column } from '../../reports/formats/columns.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import { renderTable } from '../../reports/formats/table.ts';
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

/** A short list: JSON with what stands before the rows, else a table, which is not shown without rows. */
export function putRows<Row extends object>(
  cli: CliContext,
  rows: readonly Row[],
  columns: readonly Column<NoInfer<Row>>[],
  head: object = {},
): void {
  if (cli.json) cli.printJson({ ...head, rows });
  else if (rows.length > 0) cli.print(renderTable(rows, columns, cli.tableOptions));
}
