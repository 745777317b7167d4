import type { Column } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import type { CliContext } from './cli-context.ts';

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
