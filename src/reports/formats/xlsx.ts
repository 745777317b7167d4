import type { ColumnKind, Sheet, SheetValue } from './sheet.ts';

/** Excel keeps so many digits of a number; longer ones are written as text, or their end would be lost. */
const EXACT_DIGITS = 15;
const EXACT_BELOW = 10n ** BigInt(EXACT_DIGITS);
/** Characters, so that ids can be read without a change. */
const WIDTHS: Readonly<Record<ColumnKind, number>> = {
  text: 24,
  integer: 16,
  decimal: 16,
  real: 12,
  time: 26,
  flag: 10,
};
/** What a reader of the format would take for an escape of a character. */
const LIKE_ESCAPE = /_(?=x[0-9A-Fa-f]{4}_)/g;
/** XML has no such characters; the others of its kind are escaped by the library. */
const NO_XML = /[\uFFFE\uFFFF]/g;

/**
 * Rows as a workbook of Office Open XML with a frozen line of headers, a piece at a time. Numbers are numbers up to 15
 * digits, beyond that exact text. Text is text, whatever it begins with: no cell is a formula. What exceeds a sheet goes
 * on in another.
 */
export async function* xlsxPieces({ name, columns, rows }: Sheet): AsyncGenerator<Uint8Array> {
  const { writeXlsxStream } = await import('hucre/xlsx');
  const stream = writeXlsxStream(cellsOf(rows, columns), {
    name,
    columns: columns.map((column) => ({ header: cellText(column.name), width: WIDTHS[column.kind] })),
    freezePane: { rows: 1 },
  });
  yield* stream;
}

function* cellsOf(
  rows: Iterable<readonly SheetValue[]>,
  columns: Sheet['columns'],
): Generator<(string | number | boolean | null)[]> {
  for (const row of rows) yield row.map((value, index) => cellOf(value, columns[index]?.kind ?? 'text'));
}

/** The library drops bigints without a word: none may reach it. */
function cellOf(value: SheetValue, kind: ColumnKind): string | number | boolean | null {
  if (value === null) return null;
  if (typeof value === 'bigint') return value < EXACT_BELOW && value > -EXACT_BELOW ? Number(value) : String(value);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (kind !== 'decimal') return cellText(value);
  const digits = value.replace(/[-.]/g, '').replace(/^0+/, '');
  return digits.length <= EXACT_DIGITS && Number.isFinite(Number(value)) ? Number(value) : cellText(value);
}

function cellText(text: string): string {
  return text
    .toWellFormed()
    .replace(LIKE_ESCAPE, '_x005F_')
    .replace(NO_XML, (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase()}_`);
}
