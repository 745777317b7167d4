import { writeFile } from 'node:fs/promises';
import type { Sheet } from '../formats/columns.ts';
import { type CsvStyle, csvPieces } from '../formats/csv.ts';
import { jsonPieces, ndjsonPieces } from '../formats/json.ts';
import { writeParquet } from '../formats/parquet.ts';
import { fillWorkbook } from '../xlsx/workbook.ts';
import { writeAtomically } from './atomic-file.ts';
import type { SheetFormat, TextFormat } from './sheet-formats.ts';

/**
 * Formats the rows of a sheet as text and yields the text in chunks. Memory use does not depend on the number of rows.
 */
export function textPieces(sheet: Sheet, format: TextFormat, style: CsvStyle = {}): Generator<string> {
  if (format === 'csv') return csvPieces(sheet, style);
  return format === 'json' ? jsonPieces(sheet) : ndjsonPieces(sheet);
}

/** Writes the rows of a sheet to a file atomically. Only the owner can read the file. */
export async function writeSheetFile(
  sheet: Sheet,
  { path, format, style }: { path: string; format: SheetFormat; style?: CsvStyle },
): Promise<void> {
  await writeAtomically(path, async (part) => {
    if (format === 'parquet') await writeParquet(sheet, part);
    else if (format === 'xlsx') await fillWorkbook([sheet], part);
    else await writeFile(part, textPieces(sheet, format, style));
  });
}

export async function writeWorkbook(sheets: Iterable<Sheet>, path: string): Promise<void> {
  await writeAtomically(path, (part) => fillWorkbook(sheets, part));
}

export async function writeTextFile(path: string, pieces: Iterable<string>): Promise<void> {
  await writeAtomically(path, (part) => writeFile(part, pieces));
}
