import { stringify } from 'csv-stringify/sync';
import { inertText } from '../../core/text/inert-text.ts';
import type { ColumnKind, Sheet } from './columns.ts';

/** Where a spreadsheet begins a cell: at the start, and behind what separates cells, in its own locale or in another. */
const CELL_START = String.raw`(^|[;,|\t\r\n])`;
/** What spreadsheets skip before they look for a formula: spaces of all kinds, marks that nobody sees, and quotes. */
const SKIPPED = String.raw`([\p{Z}\p{C}"]*)`;
/** The full-width forms count in East Asian locales. */
const OPERATOR = String.raw`(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])`;
const FORMULA = new RegExp(CELL_START + SKIPPED + OPERATOR, 'gu');
const BLANK_START = /^[\t\r\n]/;

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

const DECIMALS: readonly ColumnKind[] = ['amount', 'price', 'decimal'];

function csvField(value: unknown, kind: ColumnKind, { raw, terminal, isGerman }: CsvStyle): string {
  if (value === null || value === undefined) return '';
  const isNumber = typeof value === 'number' || (DECIMALS.includes(kind) && PLAIN_DECIMAL.test(String(value)));
  if (isNumber) return isGerman === true ? String(value).replace('.', ',') : String(value);
  if (typeof value !== 'string') return String(value);
  const text = raw === true ? value : defuseFormulas(value);
  return terminal === true ? inertText(text) : text;
}

/**
 * Text that no spreadsheet takes for a formula: a `'` goes before each operator that would begin one, also behind a
 * separator, because a locale of semicolons cuts a file of commas there.
 */
export function defuseFormulas(text: string): string {
  const defused = text.replace(FORMULA, "$1$2'");
  return BLANK_START.test(defused) ? `'${defused}` : defused;
}
