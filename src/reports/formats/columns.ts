import { canHaveHappened } from '../../core/stored-time.ts';
import { formatDuration, withThousands } from '../../core/text/words.ts';

/**
 * The type of a column's values. `credits` and `count` are integers, exact to 64 bits. Three kinds are exact decimals
 * as text: `amount` with up to 4 decimal places, `price` with up to 18, and `decimal` with any number. `double` is a
 * floating-point number, such as a percentage. `date` is a time as ISO-8601 UTC text. `day` is a text such as
 * `2026-02-28`.
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
  /** If true, a workbook shows a total of the column. Amounts are totalled for each currency. */
  sum?: true;
}

export type CellStyle = 'bold' | 'dim' | 'red' | 'green' | 'yellow';
export type Alignment = 'left' | 'right';

/** The terminal format of a column. By default, numbers are aligned right and everything else left. */
interface ColumnFormat<Value, Row> {
  align?: Alignment;
  /** Formats a cell; default: the format for the column's kind. The table escapes control characters in the result. */
  words?(value: Value, row: Row): string;
  /** If true, this text column is narrowed only when no other column can become narrower. */
  firm?: true;
  /** If true, the column is left out when no row has a value. */
  sparse?: true;
  /** If true, the column is shown on wide terminals only. */
  wide?: true;
  style?(value: Value, row: Row): CellStyle | undefined;
}

/** A column of a table that is printed in a terminal only. */
export type TableColumn<Row> = {
  [Key in keyof Row & string]: { name: Key; header: string; kind?: ColumnKind } & ColumnFormat<Row[Key], Row>;
}[keyof Row & string];

/**
 * A column of a listing whose rows are objects. The same list of columns is used for the terminal table, which shows
 * the columns with a `header`, and for files and JSON, which contain all columns.
 */
export type Column<Row> = {
  [Key in keyof Row & string]: SheetColumn & ColumnFormat<Row[Key], Row> & { name: Key; header?: string };
}[keyof Row & string];

export type SheetValue = string | number | bigint | boolean | null;

/** Rows to export in any format. The rows may be iterated only once, because they can come from a running query. */
export interface Sheet {
  /** The name of the sheet in a workbook, in plain words. */
  name: string;
  columns: readonly SheetColumn[];
  /** The rows. Each row has its values in the order of the columns. */
  rows: Iterable<readonly SheetValue[]>;
}

export function sheetOf<Row extends object>(
  name: string,
  columns: readonly Column<NoInfer<Row>>[],
  rows: Iterable<Row>,
): Sheet {
  return { name, columns, rows: rowValues(rows, columns) };
}

function* rowValues<Row extends object>(rows: Iterable<Row>, columns: readonly Column<Row>[]): Generator<SheetValue[]> {
  for (const row of rows) yield columns.map(({ name }) => plainValue(row[name]));
}

function plainValue(value: unknown): SheetValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return value;
  return String(value);
}

/**
 * Formats an integer with thousands separators, the same in every locale: `1,234,567`. A bigint of any size is
 * formatted exactly. Throws RangeError for a fraction, because credits and counts are always whole.
 */
export function formatInteger(value: number | bigint): string {
  return withThousands(BigInt(value).toString());
}

/** Formats a change: `+1,234`, `-5`, `0`. */
export function formatSigned(value: bigint): string {
  return value > 0n ? `+${formatInteger(value)}` : formatInteger(value);
}

/** Adds thousands separators to a plain decimal: `-1234.50` becomes `-1,234.50`. All digits are kept. */
export function formatDecimal(plain: string): string {
  const point = plain.indexOf('.');
  return point < 0 ? withThousands(plain) : `${withThousands(plain.slice(0, point))}${plain.slice(point)}`;
}

/**
 * Formats the age of an event, such as `3 min ago`. Returns `never` if `at` is null, and `unknown` if `at` is more than
 * a minute in the future.
 */
export function timeAgo(at: string | null, nowMs: number): string {
  if (at === null) return 'never';
  const epochMs = Date.parse(at);
  return canHaveHappened(epochMs, nowMs) ? relativeTime(epochMs, nowMs) : 'unknown';
}

/** Formats the distance between two times, rounded down to one unit: `3 min ago`, `in 2 h`, `just now` below 1 s. */
export function relativeTime(epochMs: number, nowMs: number): string {
  const distanceMs = Math.abs(nowMs - epochMs);
  if (distanceMs < 1000) return 'just now';
  const words = formatDuration(distanceMs);
  return epochMs <= nowMs ? `${words} ago` : `in ${words}`;
}
