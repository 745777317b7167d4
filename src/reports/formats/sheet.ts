/**
 * What a column holds. `integer` is exact to 64 bits, `real` a double, `decimal` text of an exact decimal, `time` ISO-8601 UTC
 * text; `flag` is true or false, which the views say as 1 or 0.
 */
export type ColumnKind = 'text' | 'integer' | 'decimal' | 'real' | 'time' | 'flag';

export interface SheetColumn {
  name: string;
  kind: ColumnKind;
}

export type SheetValue = string | number | bigint | boolean | null;

/** Rows on their way out of the program, in any format; they are read once, as they are written. */
export interface Sheet {
  /** Plain words: names the sheet of a workbook. */
  name: string;
  columns: readonly SheetColumn[];
  /** Values in the order of the columns. */
  rows: Iterable<readonly SheetValue[]>;
}

/** A sheet of rows that are objects. */
export function sheetOf<Row extends object>(
  name: string,
  columns: readonly (SheetColumn & { name: keyof Row & string })[],
  rows: Iterable<Row>,
): Sheet {
  return { name, columns, rows: valuesOf(rows, columns) };
}

function* valuesOf<Row extends object>(
  rows: Iterable<Row>,
  columns: readonly { name: keyof Row & string }[],
): Generator<SheetValue[]> {
  for (const row of rows) yield columns.map(({ name }) => plainValue(row[name]));
}

function plainValue(value: unknown): SheetValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return value;
  return String(value);
}
