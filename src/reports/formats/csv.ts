import { stringify } from 'csv-stringify/sync';

/** One column of a CSV file: the row's key and the title in the first line. */
export interface CsvColumn<Row> {
  key: keyof Row & string;
  header: string;
}

/** What makes a spreadsheet take a text for a formula; the full-width forms count in East Asian locales. */
const FORMULA_START = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * Rows as CSV by RFC 4180: CRLF line ends, quotes where needed, a line of headers first, UTF-8 without a mark.
 *
 * Text that a spreadsheet would run as a formula gets a leading `'`. Numbers and bigints are written as they are, all
 * digits and the sign included; null and undefined become empty fields.
 */
export function renderCsv<Row extends object>(
  rows: readonly Row[],
  columns: readonly CsvColumn<NoInfer<Row>>[],
): string {
  const records = rows.map((row) => columns.map((column) => csvField(row[column.key])));
  return stringify([columns.map((column) => csvField(column.header)), ...records], {
    record_delimiter: 'windows',
    quote_record_delimiter: true,
  });
}

function csvField(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  const text = String(value);
  return typeof value === 'string' && FORMULA_START.test(text) ? `'${text}` : text;
}
