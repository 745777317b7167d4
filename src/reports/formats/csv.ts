import { stringify } from 'csv-stringify/sync';
import { inertText } from '../../core/text/inert-text.ts';
import type { ColumnKind, Sheet } from './columns.ts';

/**
 * The places at which a spreadsheet begins a cell: the start of the text, and after any separator of its own or another
 * locale.
 */
const CELL_START = String.raw`(^|[;,|\t\r\n])`;
/** Characters that spreadsheets skip before they look for a formula: spaces, invisible characters and quotes. */
const SKIPPED = String.raw`([\p{Z}\p{C}"]*)`;
/** The characters that begin a formula. Full-width forms count in East Asian locales. */
const OPERATOR = String.raw`(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])`;
const FORMULA = new RegExp(CELL_START + SKIPPED + OPERATOR, 'gu');
const BLANK_START = /^[\t\r\n]/;

export interface CsvStyle {
  /** If true, fields are separated by semicolons and decimals use a comma. */
  isGerman?: boolean;
  /** If true, the file begins with a byte order mark, by which Excel recognizes UTF-8. */
  bom?: boolean;
  /** If true, text is written unchanged, for machines. A spreadsheet may run it as a formula. */
  raw?: boolean;
  /** If true, the output goes to a terminal, and control characters are escaped. */
  terminal?: boolean;
}

const CSV_ROWS_PER_CHUNK = 100;
const PLAIN_DECIMAL = /^-?\d+(\.\d+)?$/;

/**
 * Formats rows as CSV (RFC 4180) in chunks: UTF-8, CRLF line ends, quotes where needed, a header line first.
 *
 * Text that a spreadsheet would run as a formula gets a `'`. Numbers and decimals are written exactly, with their sign;
 * null becomes an empty field.
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
    if (piece.length < CSV_ROWS_PER_CHUNK) continue;
    yield stringify(piece, format);
    piece = [];
  }
  if (piece.length > 0) yield stringify(piece, format);
}

const DECIMAL_KINDS: readonly ColumnKind[] = ['amount', 'price', 'decimal'];

function csvField(value: unknown, kind: ColumnKind, { raw, terminal, isGerman }: CsvStyle): string {
  if (value === null || value === undefined) return '';
  const isNumber = typeof value === 'number' || (DECIMAL_KINDS.includes(kind) && PLAIN_DECIMAL.test(String(value)));
  if (isNumber) return isGerman === true ? String(value).replace('.', ',') : String(value);
  if (typeof value !== 'string') return String(value);
  const text = raw === true ? value : defuseFormulas(value);
  return terminal === true ? inertText(text) : text;
}

/**
 * Prefixes each operator that would begin a formula with a `'`. This includes operators after a separator, because a
 * spreadsheet whose locale uses semicolons splits a comma file there.
 */
export function defuseFormulas(text: string): string {
  const defused = text.replace(FORMULA, "$1$2'");
  return BLANK_START.test(defused) ? `'${defused}` : defused;
}
