import { stringify } from 'csv-stringify/sync';
import { type FocusVersion, focusColumns } from './focus-columns.ts';
import type { FocusRow } from './focus-rows.ts';

/** The first line of a FOCUS file: the columns of its version. */
export function focusHeader(version: FocusVersion): string {
  return stringify([focusColumns(version)], FORMAT);
}

/**
 * Rows of a FOCUS file as CSV. It is for machines: identifiers are written as they are, also those that a spreadsheet
 * would take for a formula, and null is an empty field without quotes.
 */
export function focusLines(rows: readonly FocusRow[], version: FocusVersion): string {
  const columns = focusColumns(version);
  return stringify(
    rows.map((row) => columns.map((column) => row[column])),
    FORMAT,
  );
}

const FORMAT = { record_delimiter: 'windows', quote_record_delimiter: true } as const;
