import { canHaveHappened } from '../../core/stored-time.ts';
import { formatDuration, withThousands } from '../../core/text/words.ts';

/**
 * What a column holds: `credits` and `count` are integers, exact to 64 bits; `amount` and `price` are text of an exact decimal
 * with up to 4 and 18 decimals, `decimal` of any; `double` is one, such as a percentage, `date` ISO-8601 UTC text, `day` such as `2026-02-28`.
 */
export type ColumnKind =
  | 'id'
  | 'text'
  | 'credits'
  | 'count'
  | 'amount'
  | 'price'
  | 'decimal'
  | 'double'
  | 'date'
  | 'day'
  | 'flag';

export interface SheetColumn {
  name: string;
  kind: ColumnKind;
  /** True: a workbook says what its rows come to, amounts by the currency of their rows. */
  sum?: true;
}

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

/**
 * An integer with thousands separators, the same in every locale: `1,234,567`. Exact for any bigint. Throws RangeError
 * when a number has a fraction: credits and counts never do.
 */
export function formatInteger(value: number | bigint): string {
  return withThousands(BigInt(value).toString());
}

/** A change: `+1,234`, `-5`, `0`. */
export function formatSigned(value: bigint): string {
  return value > 0n ? `+${formatInteger(value)}` : formatInteger(value);
}

/** A plain decimal, such as an amount, with thousands separators: `-1,234.50`. For people; exact. */
export function formatDecimal(plain: string): string {
  return plain.replace(/^-?\d+/, withThousands);
}

/** How long ago something happened, in words; `unknown` where it lies more than a minute in the future. */
export function timeAgo(at: string | null, nowMs: number): string {
  if (at === null) return 'never';
  const epochMs = Date.parse(at);
  return canHaveHappened(epochMs, nowMs) ? relativeTime(epochMs, nowMs) : 'unknown';
}

/** The time between two instants in words, rounded down to one unit: `3 min ago`, `in 2 h`, `just now` below 1 s. */
export function relativeTime(epochMs: number, nowMs: number): string {
  const distanceMs = Math.abs(nowMs - epochMs);
  if (distanceMs < 1000) return 'just now';
  const words = formatDuration(distanceMs);
  return epochMs <= nowMs ? `${words} ago` : `in ${words}`;
}
