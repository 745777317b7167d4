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
import { noteOmittedRows } from '../shared/options.ts';

export interface SheetOptions {
  out?: string | undefined;
  bom?: boolean;
  locale?: 'de';
  raw?: boolean;
  limit?: number;
}

export const LISTING_FORMATS = ['table', ...SHEET_FORMATS] as const;
export const LISTING_FORMAT = new Option('--format <format>', 'output format (default: table)').choices(
  LISTING_FORMATS,
);

export interface ListingOptions extends SheetOptions {
  format?: (typeof LISTING_FORMATS)[number];
  json?: boolean;
}

export function addSheetOptions(command: CliCommand): CliCommand {
  return command
    .option('--out <file>', 'write to this file; required for xlsx and parquet')
    .addOption(new Option('--locale <name>', 'write CSV with semicolons and decimal commas').choices(['de']))
    .option('--bom', 'start CSV with a byte-order mark, for Excel')
    .option('--raw', 'keep text unchanged in CSV, even where a spreadsheet would run it as a formula');
}

/**
 * Writes the rows of a sheet to the file of `--out` (atomically, readable only by its owner) or to stdout. Returns the
 * number of rows. Throws UsageError if the format needs a file and none is named.
 */
export async function writeSheet(
  cli: CliContext,
  source: Sheet,
  { format, options }: { format: SheetFormat; options: SheetOptions },
): Promise<number> {
  const style = csvStyle(options);
  const seen = { rows: 0 };
  const sheet = { ...source, rows: limitRows(source.rows, options.limit, seen) };
  if (options.out !== undefined) {
    await writeSheetFile(sheet, { path: resolve(cli.io.cwd, options.out), format, style });
    noteWritten(cli, options.out);
  } else if (isTextFormat(format)) {
    await cli.printPieces(textPieces(sheet, format, { ...style, terminal: cli.io.stdout.isTTY === true }));
  } else {
    throw new UsageError(`--format ${format} needs --out`, `add a file name, such as --out usage.${format}`);
  }
  noteOmittedRows(cli, seen.rows - (options.limit ?? seen.rows));
  return seen.rows;
}

export interface Listing<Row extends object> {
  name: string;
  columns: readonly Column<Row>[];
  rows: Iterable<Row>;
  /** The fields that precede `rows` in the JSON document. */
  head?: object;
}

/** Writes a listing in the requested format; an empty table is not shown. Returns the total number of rows. */
export async function writeListing<Row extends object>(
  cli: CliContext,
  { name, columns, rows, head = {} }: Listing<Row>,
  options: ListingOptions,
): Promise<number> {
  const format = chooseFormat(options, 'table');
  if (format !== 'table' && format !== 'json')
    return writeSheet(cli, sheetOf(name, columns, rows), { format, options });
  const seen = { rows: 0 };
  const shown = limitRows(rows, options.limit, seen);
  if (format === 'json') await writePieces(cli, documentPieces(head, shown), options);
  else {
    const all = [...shown];
    if (all.length > 0 || options.out !== undefined) {
      await writeTable(cli, renderTable(all, columns, cli.tableOptions), options);
    }
  }
  noteOmittedRows(cli, seen.rows - (options.limit ?? seen.rows));
  return seen.rows;
}

export function* limitRows<Row>(
  rows: Iterable<Row>,
  limit: number | undefined,
  seen: { rows: number },
): Generator<Row> {
  for (const row of rows) {
    seen.rows += 1;
    if (limit === undefined || seen.rows <= limit) yield row;
  }
}

/** Notes on a terminal that a file was written. A script sees the exit code instead. */
export function noteWritten(cli: CliContext, path: string): void {
  if (cli.io.stderr.isTTY === true) cli.note(`wrote ${inertText(path)}`);
}

export async function writeText(cli: CliContext, text: string, options: Pick<SheetOptions, 'out'>): Promise<void> {
  await writePieces(cli, [text], options);
}

export async function writePieces(
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

/** Prints a table to stdout. Throws UsageError if `--out` is given, because a table is not written to a file. */
export async function writeTable(cli: CliContext, table: string, { out }: SheetOptions): Promise<void> {
  if (out !== undefined) throw new UsageError('--out does not take a table', 'add a --format, such as csv or xlsx');
  cli.print(table);
}

/** Returns the requested format; `--json` is short for `--format json`. */
export function chooseFormat<Format extends string>(
  { format, json }: { format?: Format | undefined; json?: boolean | undefined },
  otherwise: Format,
): Format | 'json' {
  if (json !== true) return format ?? otherwise;
  if (format === undefined || format === 'json') return 'json';
  throw new UsageError(`--json conflicts with --format ${format}`, 'use one of them');
}

export function csvStyle({ bom, locale, raw }: SheetOptions): CsvStyle {
  return {
    isGerman: locale === 'de',
    bom: bom === true,
    raw: raw === true,
  };
}
