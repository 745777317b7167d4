import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { UsageError } from '../../core/errors.ts';

/** One line of a CSV file, by the names in its first line. */
export type CsvRecord = Readonly<Record<string, string>>;

/**
 * Reads a CSV file with a line of headers: UTF-8, with or without a mark, comma or semicolon, whichever the first line has.
 *
 * @throws UsageError when it cannot be read, is no CSV, or lacks one of these columns.
 */
export function readCsvFile(file: string, columns: readonly string[]): CsvRecord[] {
  let records: CsvRecord[];
  try {
    const text = readFileSync(file, 'utf8');
    const head = /^[^\r\n]*/.exec(text)?.[0] ?? '';
    const delimiter = head.split(';').length > head.split(',').length ? ';' : ',';
    records = parse(text, { bom: true, columns: true, delimiter, skip_empty_lines: true, trim: false }) as CsvRecord[];
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code?.startsWith('CSV_') ? message : `it cannot be read (${code ?? message})`;
    throw new UsageError(`${file}: ${reason}`, 'give a CSV file whose first line names its columns');
  }
  const missing = columns.filter((column) => records[0] !== undefined && records[0][column] === undefined);
  if (missing.length === 0) return records;
  const found = Object.keys(records[0] ?? {}).join(', ');
  throw new UsageError(`${file} has no column ${missing.join(', ')}`, `its first line names ${found}`);
}
