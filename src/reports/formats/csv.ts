import { stringify } from 'csv-stringify/sync';
import { inertText } from '../../core/text/inert-text.ts';
import type { ColumnKind, Sheet } from './columns.ts';
import { defuseFormulas } from './formula.ts';

export interface CsvStyle {
  /** True: semicolons between fields, and decimal commas. */
  isGerman?: boolean;
  /** True: begins with a mark by which Excel knows UTF-8. */
  bom?: boolean;
  /** True: text is written as it is, for machines; a spreadsheet may run it as a formula. */
  raw?: boolean;
  /** True: somebody looks at it on a terminal, so that control characters are escaped. */
  terminal?: boolean;
}

/** Rows that are joined at a time. */
const ROWS_A_PIECE = 100;
const PLAIN_DECIMAL = /^-?\d+(\.\d+)?$/;

/**
 * Rows as CSV by RFC 4180, a piece at a time: CRLF line ends, quotes where needed, a line of headers first, UTF-8.
 *
 * Text that a spreadsheet would run as a formula gets a `'`. Numbers and decimals are written as they are, all digits
 * and the sign included; null becomes an empty field.
 */
export function* csvPieces({ columns, rows }: Sheet, style: CsvStyle = {}): Generator<string> {
  const format = {
    record_delimiter: 'windows',
    quote_record_delimiter: true,
    delimiter: style.isGerman === true ? ';' : ',',
  } as const;
  const header = columns.map(({ name }) => csvField(name, 'text', style));
  let piece = [header];
  yield style.bom === true ? '\uFEFF' : '';
  for (const row of rows) {
    piece.push(row.map((value, index) => csvField(value, columns[index]?.kind ?? 'text', style)));
    if (piece.length < ROWS_A_PIECE) continue;
    yield stringify(piece, format);
    piece = [];
  }
  if (piece.length > 0) yield stringify(piece, format);
}

/** Text of these kinds is a number. */
const DECIMALS: readonly ColumnKind[] = ['amount', 'price', 'decimal'];

function csvField(value: unknown, kind: ColumnKind, { raw, terminal, isGerman }: CsvStyle): string {
  if (value === null || value === undefined) return '';
  const isNumber = typeof value === 'number' || (DECIMALS.includes(kind) && PLAIN_DECIMAL.test(String(value)));
  if (isNumber) return isGerman === true ? String(value).replace('.', ',') : String(value);
  if (typeof value !== 'string') return String(value);
  const text = raw === true ? value : defuseFormulas(value);
  return terminal === true ? inertText(text) : text;
}
