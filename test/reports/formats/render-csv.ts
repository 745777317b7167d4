import { type ColumnKind, sheetOf } from '../../../src/reports/formats/columns.ts';
import { type CsvStyle, csvPieces } from '../../../src/reports/formats/csv.ts';

/** Formats rows of objects as one CSV text. */
export function renderCsv<Row extends object>(
  rows: readonly Row[],
  columns: readonly { key: keyof Row & string; header: string; kind?: ColumnKind }[],
  style: CsvStyle = {},
): string {
  const named = columns.map(({ header, kind = 'text' }) => ({ name: header, kind }));
  const values = rows.map((row) => Object.fromEntries(columns.map(({ key, header }) => [header, row[key] ?? null])));
  return [...csvPieces(sheetOf<Record<string, unknown>>('rows', named, values), style)].join('');
}
