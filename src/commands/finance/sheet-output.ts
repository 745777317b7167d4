import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { UsageError } from '../../core/errors.ts';
import {
  isTextFormat,
  type SheetFormat,
  textPieces,
  writeSheetFile,
  writeTextFile,
} from '../../reports/files/write-sheet.ts';
import type { CsvStyle } from '../../reports/formats/csv.ts';
import type { Sheet, SheetValue } from '../../reports/formats/sheet.ts';
import type { CliContext } from '../shared/cli-context.ts';

/** What commands that give rows know of where and how. */
export interface SheetOptions {
  out?: string | undefined;
  bom?: boolean;
  delimiter?: string;
  raw?: boolean;
}

const DELIMITERS: Readonly<Record<string, NonNullable<CsvStyle['delimiter']>>> = {
  comma: ',',
  semicolon: ';',
  tab: '\t',
};

export function addSheetOptions(command: Command): Command {
  return command
    .option('--out <file>', 'write into this file instead of stdout; xlsx and parquet need one')
    .addOption(new Option('--delimiter <name>', 'of CSV (default: comma)').choices(Object.keys(DELIMITERS)))
    .option('--bom', 'begin CSV with a mark by which Excel knows UTF-8')
    .option('--raw', 'CSV for machines: text as it is, also where a spreadsheet would run it');
}

/**
 * Writes rows into the file that was asked for, at once and readable by its owner alone, or to stdout. Returns how many.
 *
 * @throws UsageError when the format needs a file and there is none.
 */
export async function putSheet(
  cli: CliContext,
  given: Sheet,
  { format, options }: { format: SheetFormat; options: SheetOptions },
): Promise<number> {
  const style = styleOf(options);
  let count = 0;
  const rows = function* (): Generator<readonly SheetValue[]> {
    for (const row of given.rows) {
      count += 1;
      yield row;
    }
  };
  const sheet = { ...given, rows: rows() };
  if (options.out !== undefined) {
    await writeSheetFile(sheet, { path: resolve(cli.io.cwd, options.out), format, style });
  } else if (isTextFormat(format)) {
    await cli.printPieces(textPieces(sheet, format, { ...style, terminal: cli.io.stdout.isTTY === true }));
  } else {
    throw new UsageError(`--format ${format} needs --out`, `name the file, such as --out usage.${format}`);
  }
  return count;
}

/** Writes a finished text into the file that was asked for, or to stdout. */
export async function putText(cli: CliContext, text: string, options: Pick<SheetOptions, 'out'>): Promise<void> {
  await putPieces(cli, [text], options);
}

/** The same for a text that comes in pieces. */
export async function putPieces(
  cli: CliContext,
  pieces: Iterable<string>,
  { out }: Pick<SheetOptions, 'out'>,
): Promise<void> {
  if (out === undefined) await cli.printPieces(pieces);
  else await writeTextFile(resolve(cli.io.cwd, out), pieces);
}

/** @throws UsageError when it is to go into a file: a table is for the eye. */
export async function putTable(cli: CliContext, table: string, { out }: SheetOptions): Promise<void> {
  if (out !== undefined)
    throw new UsageError('a table goes to stdout only', 'give --out a --format, such as csv or xlsx');
  cli.print(table);
}

/** The format that was asked for, where `--json` is another word for `--format json`. */
export function chosenFormat<Format extends string>(
  { format, json }: { format?: Format; json?: boolean },
  otherwise: Format,
): Format | 'json' {
  if (json !== true) return format ?? otherwise;
  if (format === undefined || format === 'json') return 'json';
  throw new UsageError(`--json contradicts --format ${format}`, 'give one of the two');
}

function styleOf({ bom, delimiter, raw }: SheetOptions): CsvStyle {
  return {
    ...(delimiter === undefined ? {} : { delimiter: DELIMITERS[delimiter] ?? ',' }),
    bom: bom === true,
    raw: raw === true,
  };
}
