import { stringify } from 'csv-stringify/sync';
import { inertText } from '../../core/text/inert-text.ts';
import type { ColumnKind, Sheet } from './columns.ts';

/**
 * Matches where a spreadsheet may begin a cell: at the start of the text, or after a character that separates cells in
 * some locale.
 */
const CELL_START = String.raw`(^|[;,|\t\r\n])`;
/** Characters that spreadsheets skip before they look for a formula: spaces, invisible characters and quotes. */
const SKIPPED = String.raw`([\p{Z}\p{C}"]*)`;
/** The characters that begin a formula. The full-width forms begin one in East Asian locales. */
const OPERATOR = String.raw`(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])`;
const FORMULA = new RegExp(CELL_START + SKIPPED + OPERATOR, 'gu');
const BLANK_START = /^[\t\r\n]/;

export interface CsvStyle {
  /** If true, fields are separated by semicolons and decimals use a comma. */
  isGerman?: boolean;
  /** If true, the file begins with a byte order mark. Excel needs the mark to recognize UTF-8. */
  bom?: boolean;
  /**
   * If true, text is written unchanged, for programs that read the file. A spreadsheet may run such text as a formula.
   */
  raw?: boolean;
  /** If true, control characters are escaped, because the output goes to a terminal. */
  terminal?: boolean;
}

const CSV_ROWS_PER_CHUNK = 100;
const PLAIN_DECIMAL = /^-?\d+(\.\d+)?$/;

/**
 * Formats rows as CSV (RFC 4180) and yields the text in chunks: a header line first, CRLF line ends, quotes where
 * needed. Text that a spreadsheet would run as a formula gets a `'` in front, unless `raw` is set. Numbers and decimals
 * are written exactly, with their sign. Null becomes an empty field.
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
 * Puts a `'` before each operator that would begin a formula in a spreadsheet. This includes operators after a
 * separator inside the text, because a spreadsheet may split the text there: for example, its locale separates cells by
 * semicolons and the file by commas.
 */
export function defuseFormulas(text: string): string {
  const defused = text.replace(FORMULA, "$1$2'");
  return BLANK_START.test(defused) ? `'${defused}` : defused;
}
