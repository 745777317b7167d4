import { UsageError } from '../../core/errors.ts';
import { MIB } from '../input-file.ts';
import { type Places, type Table, TableBuilder, type TableRequest } from '../table.ts';
import { DamagedArchive, type ZipArchive } from '../zip-archive.ts';
import {
  findSheet,
  openWorkbook,
  readSheetContext,
  unpackedBytes,
  type Workbook,
  type WorkbookSheet,
} from './open-workbook.ts';
import { columnLetters, readSheet } from './read-sheet.ts';

/**
 * The maximum size of a sheet after unpacking, with the parts that it needs. A sheet with a million rows and ten
 * columns takes about 400 MiB. Without a limit, a small archive could unpack to terabytes.
 */
const MAX_UNPACKED_BYTES = 512 * MIB;
/** The maximum size after unpacking of the parts that list the sheets and their types. */
const MAX_DIRECTORY_BYTES = 16 * MIB;

/** Reads the table in one sheet of a workbook. Throws UsageError, with the address of the cell if a cell is wrong. */
export function readWorkbook(
  file: string,
  archive: ZipArchive,
  { sheet: wanted, ...request }: TableRequest & { sheet?: string | undefined },
): Table {
  try {
    refuseBomb(file, directoryBytes(archive), MAX_DIRECTORY_BYTES);
    const workbook = openWorkbook(archive);
    const sheet = findSheet(workbook, wanted);
    if (sheet === null) throw unknownSheet(file, workbook, wanted);
    refuseBomb(file, unpackedBytes(archive, workbook, sheet.part), MAX_UNPACKED_BYTES);
    const builder = new TableBuilder(placesIn(file, workbook, sheet), request);
    readSheet(archive.read(sheet.part), readSheetContext(archive, workbook), (row) => builder.add(row));
    return builder.finish();
  } catch (error) {
    if (!(error instanceof DamagedArchive)) throw error;
    const hint = 'open it in Excel or LibreOffice, save it under another name, and give that file';
    throw new UsageError(`${file} is a damaged Excel workbook`, hint);
  }
}

function directoryBytes(archive: ZipArchive): number {
  const isDirectory = (name: string): boolean => name.endsWith('.rels') || name.endsWith('workbook.xml');
  return archive.names.filter(isDirectory).reduce((sum, name) => sum + archive.sizeOf(name), 0);
}

function refuseBomb(file: string, bytes: number, most: number): void {
  if (bytes <= most) return;
  const size = `${Math.ceil(bytes / MIB)} MiB`;
  throw new UsageError(
    `${file} unpacks to ${size}; the limit is ${most / MIB} MiB`,
    'split the workbook, or save it as CSV',
  );
}

function unknownSheet(file: string, { sheets }: Workbook, wanted: string | undefined): UsageError {
  const names = sheets.map(nameInError).join(', ');
  if (wanted === undefined)
    return new UsageError(`${file} has no visible sheet with cells: ${names}`, 'name one by --sheet');
  return new UsageError(`${file} has no sheet ${JSON.stringify(wanted)}`, `it has ${names}`);
}

function nameInError({ name, isHidden, part }: WorkbookSheet): string {
  return `${JSON.stringify(name)}${part === null ? ' (a chart)' : isHidden ? ' (hidden)' : ''}`;
}

function placesIn(file: string, { sheets }: Workbook, sheet: WorkbookSheet): Places {
  const isOnly = sheets.length === 1;
  const others = sheets.filter((one) => one !== sheet && one.part !== null).map(nameInError);
  return {
    file: isOnly ? file : `${file}, sheet ${JSON.stringify(sheet.name)}`,
    row: (line) => `row ${line}`,
    cell: (line, columnIndex, column) => `cell ${columnLetters(columnIndex)}${line} (column ${column})`,
    refusesSurplus: false,
    missingColumnHint: others.length === 0 ? null : `Or name another sheet by --sheet: ${others.join(', ')}`,
  };
}
