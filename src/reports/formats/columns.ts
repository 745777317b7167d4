/**
 * What a column holds: `credits` and `count` are integers, exact to 64 bits; `amount` and `price` are text of an exact decimal
 * with up to 4 and 18 decimals, `decimal` of any; `percent` is a double, `date` ISO-8601 UTC text, `day` such as `2026-02-28`.
 */
export type ColumnKind =
  | 'id'
  | 'text'
  | 'credits'
  | 'count'
  | 'amount'
  | 'price'
  | 'decimal'
  | 'percent'
  | 'date'
  | 'day'
  | 'flag';

export interface SheetColumn {
  /** In files and in JSON. */
  name: string;
  kind: ColumnKind;
  /** True: a workbook says what its rows come to, amounts by the currency of their rows. */
  sum?: true;
}

/** How a cell stands out when colours are on. */
export type CellStyle = 'bold' | 'dim' | 'red' | 'green' | 'yellow';
export type Alignment = 'left' | 'right';

/** How values are shown on a terminal: numbers to the right and anything else to the left, unless it says otherwise. */
interface Look<Value, Row> {
  align?: Alignment;
  /** The cell's words in place of those of its kind; they are made inert for terminals. */
  words?(value: Value, row: Row): string;
  /** True: a column of text that gives way to the width of a terminal only when no other can. */
  firm?: true;
  /** True: left out where no row has a value. */
  sparse?: true;
  /** True: left out of a terminal that is not wide. */
  wide?: true;
  style?(value: Value, row: Row): CellStyle | undefined;
}

/** A column of a table that is for the eye alone. */
export type TableColumn<Row> = {
  [Key in keyof Row & string]: { name: Key; header: string; kind?: ColumnKind } & Look<Row[Key], Row>;
}[keyof Row & string];

/**
 * A column of a listing, whose rows are objects. One list of them makes its table on a terminal, of the columns with a header, and its
 * files and JSON, of all.
 */
export type Column<Row> = {
  [Key in keyof Row & string]: SheetColumn & Look<Row[Key], Row> & { name: Key; header?: string };
}[keyof Row & string];

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
  columns: readonly Column<NoInfer<Row>>[],
  rows: Iterable<Row>,
): Sheet {
  return { name, columns, rows: valuesOf(rows, columns) };
}

function* valuesOf<Row extends object>(rows: Iterable<Row>, columns: readonly Column<Row>[]): Generator<SheetValue[]> {
  for (const row of rows) yield columns.map(({ name }) => plainValue(row[name]));
}

function plainValue(value: unknown): SheetValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return value;
  return String(value);
}
