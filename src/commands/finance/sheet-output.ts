import { resolve } from 'node:path';
import { Option } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { isTextFormat, SHEET_FORMATS, type SheetFormat } from '../../reports/files/sheet-formats.ts';
import { textPieces, writeSheetFile, writeTextFile } from '../../reports/files/write-sheet.ts';
import { type Column, type Sheet, sheetOf } from '../../reports/formats/columns.ts';
import type { CsvStyle } from '../../reports/formats/csv.ts';
import { documentPieces } from '../../reports/formats/json.ts';
import { renderTable } from '../../reports/formats/table.ts';
import type { CliCommand, CliContext } from '../shared/cli-context.ts';
import { noteMore } from '../shared/options.ts';

export interface SheetOptions {
  out?: string | undefined;
  bom?: boolean;
  locale?: 'de';
  raw?: boolean;
  limit?: number;
}

export const LISTING_FORMATS = ['table', ...SHEET_FORMATS] as const;
export const LISTING_FORMAT = new Option('--format <format>', 'form of the answer (default: table)').choices(
  LISTING_FORMATS,
);

export interface ListingOptions extends SheetOptions {
  format?: (typeof LISTING_FORMATS)[number];
  json?: boolean;
}

export function addSheetOptions(command: CliCommand): CliCommand {
  return command
    .option('--out <file>', 'write into this file; xlsx and parquet need one')
    .addOption(new Option('--locale <name>', 'CSV with semicolons and decimal commas').choices(['de']))
    .option('--bom', 'begin CSV with a byte-order mark, for Excel')
    .option('--raw', 'CSV with text as it is, also where a spreadsheet would run it');
}

/**
 * Writes rows into the file that was asked for, at once and readable by its owner alone, or to stdout. Returns how
 * many. Throws UsageError when the format needs a file and there is none.
 */
export async function putSheet(
  cli: CliContext,
  given: Sheet,
  { format, options }: { format: SheetFormat; options: SheetOptions },
): Promise<number> {
  const style = styleOf(options);
  const seen = { rows: 0 };
  const sheet = { ...given, rows: firstOf(given.rows, options.limit, seen) };
  if (options.out !== undefined) {
    await writeSheetFile(sheet, { path: resolve(cli.io.cwd, options.out), format, style });
    noteWritten(cli, options.out);
  } else if (isTextFormat(format)) {
    await cli.printPieces(textPieces(sheet, format, { ...style, terminal: cli.io.stdout.isTTY === true }));
  } else {
    throw new UsageError(`--format ${format} needs --out`, `name the file, such as --out usage.${format}`);
  }
  noteMore(cli, seen.rows - (options.limit ?? seen.rows));
  return seen.rows;
}

export interface Listing<Row extends object> {
  name: string;
  columns: readonly Column<Row>[];
  rows: Iterable<Row>;
  /** What stands before the rows in JSON. */
  head?: object;
}

/** Gives a listing in the form that was asked for; a table without rows is not shown. Returns how many rows there are. */
export async function putListing<Row extends object>(
  cli: CliContext,
  { name, columns, rows, head = {} }: Listing<Row>,
  options: ListingOptions,
): Promise<number> {
  const format = chosenFormat(options, 'table');
  if (format !== 'table' && format !== 'json') return putSheet(cli, sheetOf(name, columns, rows), { format, options });
  const seen = { rows: 0 };
  const shown = firstOf(rows, options.limit, seen);
  if (format === 'json') await putPieces(cli, documentPieces(head, shown), options);
  else {
    const all = [...shown];
    if (all.length > 0 || options.out !== undefined) {
      await putTable(cli, renderTable(all, columns, cli.tableOptions), options);
    }
  }
  noteMore(cli, seen.rows - (options.limit ?? seen.rows));
  return seen.rows;
}

export function* firstOf<Row>(rows: Iterable<Row>, limit: number | undefined, seen: { rows: number }): Generator<Row> {
  for (const row of rows) {
    seen.rows += 1;
    if (limit === undefined || seen.rows <= limit) yield row;
  }
}

/** A person at a terminal hears that a file was written; a script has the exit code. */
export function noteWritten(cli: CliContext, path: string): void {
  if (cli.io.stderr.isTTY === true) cli.note(`${inertText(path)} is written`);
}

export async function putText(cli: CliContext, text: string, options: Pick<SheetOptions, 'out'>): Promise<void> {
  await putPieces(cli, [text], options);
}

export async function putPieces(
  cli: CliContext,
  pieces: Iterable<string>,
  { out }: Pick<SheetOptions, 'out'>,
): Promise<void> {
  if (out === undefined) await cli.printPieces(pieces);
  else {
    await writeTextFile(resolve(cli.io.cwd, out), pieces);
    noteWritten(cli, out);
  }
}

/** @throws UsageError when it is to go into a file: a table is for the eye. */
export async function putTable(cli: CliContext, table: string, { out }: SheetOptions): Promise<void> {
  if (out !== undefined)
    throw new UsageError('a table goes to stdout only', 'give --out a --format, such as csv or xlsx');
  cli.print(table);
}

/** The format that was asked for, where `--json` is another word for `--format json`. */
export function chosenFormat<Format extends string>(
  { format, json }: { format?: Format | undefined; json?: boolean | undefined },
  otherwise: Format,
): Format | 'json' {
  if (json !== true) return format ?? otherwise;
  if (format === undefined || format === 'json') return 'json';
  throw new UsageError(`--json contradicts --format ${format}`, 'give one of the two');
}

export function styleOf({ bom, locale, raw }: SheetOptions): CsvStyle {
  return {
    isGerman: locale === 'de',
    bom: bom === true,
    raw: raw === true,
  };
}
