import { stringify } from 'csv-stringify/sync';
import { inertText } from '../../core/text/inert-text.ts';
import { defuseFormulas } from './formula.ts';
import type { ColumnKind, Sheet, SheetValue } from './sheet.ts';

/** One column of a CSV file: the row's key and the title in the first line. */
export interface CsvColumn<Row> {
  key: keyof Row & string;
  header: string;
  /** `decimal`: text that is a number; without it text is text. */
  kind?: ColumnKind;
}

export interface CsvStyle {
  delimiter?: ',' | ';' | '\t';
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
    delimiter: style.delimiter ?? ',',
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

/** The same for rows that are objects, in one text. */
export function renderCsv<Row extends object>(
  rows: readonly Row[],
  columns: readonly CsvColumn<NoInfer<Row>>[],
  style: CsvStyle = {},
): string {
  const values = rows.map((row) => columns.map(({ key }) => row[key] as SheetValue));
  const kinds = columns.map(({ header, kind }) => ({ name: header, kind: kind ?? 'text' }) as const);
  return [...csvPieces({ name: 'rows', columns: kinds, rows: values }, style)].join('');
}

function csvField(value: unknown, kind: ColumnKind, { raw, terminal }: CsvStyle): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const isNumber = kind === 'decimal' && PLAIN_DECIMAL.test(value);
  const text = raw === true || isNumber ? value : defuseFormulas(value);
  return terminal === true ? inertText(text) : text;
}
