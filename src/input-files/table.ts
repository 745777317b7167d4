import { UsageError } from '../core/errors.ts';
import { nearest } from '../core/text/closest.ts';
import { inertText } from '../core/text/inert-text.ts';

/** A cell of a workbook. */
export interface WorkbookCell {
  /** The value of the cell as text. A number is a plain decimal with a point; a date or time is in ISO form. */
  text: string;
  isNumber: boolean;
  /** Why the value of the cell cannot be used; null if it can be used. */
  fault: CellFault | null;
}

export interface CellFault {
  /** The problem in words that follow the cell's address in an error: `the cell has the error #REF!`. */
  problem: string;
  hint: string;
}

export interface SourceRow {
  /**
   * The number of the line in a text file, or of the row in a sheet, from 1. For a record of several lines, this is the
   * last line.
   */
  line: number;
  /** The cells by the index of their column, from 0. Empty cells may be missing. */
  cells: ReadonlyMap<number, WorkbookCell> | readonly string[];
}

export interface TableRequest {
  /** The names of the columns that the file must have. */
  required: readonly string[];
  /** The names of further columns that are read if the file has them. */
  optional?: readonly string[];
  /** True to read all other columns of the file, too, under their names in the file. */
  keepsOthers?: boolean;
}

export interface TableRow {
  /** The number of the line or row, as in SourceRow. */
  line: number;
  /** The text of each column, by the column's name in the request; an empty text if the row has no such cell. */
  record: Readonly<Record<string, string>>;
  /**
   * The names of the columns in which this row has a number cell of a workbook. The text of such a cell is a plain
   * decimal, whatever number format the sheet shows.
   */
  numbers: ReadonlySet<string>;
}

export interface Table {
  rows: TableRow[];
  /** Formats the address of a cell for an error: `inv.csv, line 3, column net` or `inv.xlsx, cell B3 (column net)`. */
  place(row: TableRow, column: string): string;
}

/** The names of rows and cells in errors, which differ between text files and workbooks. */
export interface Places {
  file: string;
  /** Formats the address of a row: `line 3` or `row 3`. */
  row(line: number): string;
  cell(line: number, columnIndex: number, column: string): string;
  /**
   * True if a row with more cells than the header is an error. In a text file, such cells come from a delimiter that is
   * not in quotes; in a sheet, they are notes that can be ignored.
   */
  refusesSurplus: boolean;
  /** A further remedy to show if a column is missing; null for none. */
  missingColumnHint: string | null;
}

/** The header is searched for in this many rows from the beginning of the table; titles may be above the header. */
export const MAX_TITLE_ROWS = 100;

/**
 * Normalizes a column name for comparison: in lower case, with single spaces, and without the asterisk that templates
 * put before a name.
 */
export function foldName(name: string): string {
  const plain = name.normalize('NFKC').replace(/[\s\ufeff]+/g, ' ');
  return plain
    .trim()
    .replace(/^\*\s*/, '')
    .toLowerCase();
}

/** Returns the number of the given columns whose names are in the cells of a row. */
export function countMatches(cells: readonly string[], columns: readonly string[]): number {
  const names = new Set(cells.map(foldName));
  return columns.filter((column) => names.has(foldName(column))).length;
}

/**
 * Builds a table from rows, which must be added in the order of the file. Finds the header by its column names, and
 * skips rows that are empty or repeat the header. A row with too few cells gets empty texts for the missing cells.
 * `finish` throws UsageError for a file without a header or without a row below the header.
 */
export class TableBuilder {
  readonly #places: Places;
  readonly #request: TableRequest;
  readonly #candidates: { line: number; cells: string[] }[] = [];
  #header: Header | null = null;
  readonly #rows: TableRow[] = [];

  constructor(places: Places, request: TableRequest) {
    this.#places = places;
    this.#request = request;
  }

  add(row: SourceRow): void {
    if (isBlankRow(row)) return;
    if (this.#header === null) this.#lookForHeader(row);
    else this.#addBelow(this.#header, row);
  }

  finish(): Table {
    const { file, row, cell } = this.#places;
    const header = this.#header;
    if (header === null) throw this.#noHeader();
    if (this.#rows.length === 0) {
      const message = `${file} has no rows below its header (${row(header.line)})`;
      throw new UsageError(message, 'export the data again, and check that it has rows');
    }
    return {
      rows: this.#rows,
      place: ({ line }, column) => `${file}, ${cell(line, header.indexOf.get(column) ?? 0, column)}`,
    };
  }

  #lookForHeader(row: SourceRow): void {
    if (this.#candidates.length >= MAX_TITLE_ROWS) return;
    const cells = cellTexts(row);
    const { required } = this.#request;
    this.#candidates.push({ line: row.line, cells });
    if (countMatches(cells, required) === required.length) {
      this.#header = readHeader({ line: row.line, cells }, this.#places, this.#request);
    }
  }

  #addBelow(header: Header, row: SourceRow): void {
    if (header.cells.every((text, index) => cellText(row, index).trim() === text.trim())) return;
    if (this.#places.refusesSurplus) this.#refuseSurplus(header, row);
    const numbers = new Set<string>();
    const record: [string, string][] = [];
    for (const [name, index] of header.indexOf) {
      const cell = cellAt(row, index);
      if (typeof cell === 'object' && cell.fault !== null) {
        const { file, cell: placeOf } = this.#places;
        throw new UsageError(`${file}, ${placeOf(row.line, index, name)}: ${cell.fault.problem}`, cell.fault.hint);
      }
      if (typeof cell === 'object' && cell.isNumber) numbers.add(name);
      record.push([name, typeof cell === 'object' ? cell.text : (cell ?? '')]);
    }
    this.#rows.push({ line: row.line, record: Object.fromEntries(record), numbers });
  }

  #refuseSurplus(header: Header, row: SourceRow): void {
    const texts = cellTexts(row);
    const last = texts.findLastIndex((text) => text.trim() !== '');
    if (last < header.cells.length) return;
    const { file, row: rowAt } = this.#places;
    const counts = `has ${last + 1} cells, but the header (${rowAt(header.line)}) has ${header.cells.length}`;
    const hint = 'put values that contain the delimiter in double quotes, and remove cells without a column name';
    throw new UsageError(`${file}, ${rowAt(row.line)}: ${counts}`, hint);
  }

  /**
   * Returns the error for a file in which no row has all required columns. The message shows the row whose cells match
   * the required columns best.
   */
  #noHeader(): UsageError {
    const { file, row, missingColumnHint } = this.#places;
    const { required } = this.#request;
    if (this.#candidates.length === 0) return new UsageError(`${file} has no rows`, 'export the data again');
    const judged = this.#candidates.map(({ line, cells }) => {
      const names = new Set(cells.map(foldName));
      const missing = required.filter((column) => !names.has(foldName(column)));
      const near = missing.flatMap((column) => nearest(column, cells, 1));
      return { line, cells, missing, near, score: 2 * (required.length - missing.length) + near.length };
    });
    const best = judged.reduce((one, other) => (other.score > one.score ? other : one));
    const names = best.cells.map((text) => inertText(text.trim())).filter((text) => text !== '');
    const shown = names.length > MAX_SHOWN_HEADERS ? [...names.slice(0, MAX_SHOWN_HEADERS), '...'] : names;
    const meant = [...new Set(best.near)].map((name) => JSON.stringify(name.trim())).join(' and ');
    const hints = [
      meant === '' ? 'name columns as the header of the file does' : `did you mean ${meant}?`,
      missingColumnHint,
    ];
    return new UsageError(
      `${file} has no column ${best.missing.join(', ')} (${row(best.line)} has ${shown.join(', ')})`,
      hints.filter((hint) => hint !== null).join(' '),
    );
  }
}

const MAX_SHOWN_HEADERS = 12;

interface Header {
  line: number;
  cells: string[];
  /** The index of each column that is read, by the name that the column has in the rows of the table. */
  indexOf: ReadonlyMap<string, number>;
}

/**
 * Finds the columns to read in the header. Throws UsageError if two columns have the same name, because nobody can tell
 * which of them is meant.
 */
function readHeader(
  { line, cells }: { line: number; cells: string[] },
  places: Places,
  { required, optional = [], keepsOthers = false }: TableRequest,
): Header {
  const refuse = (name: string, indexes: readonly number[]): never => {
    const where = indexes.map((index) => JSON.stringify(cells[index])).join(' and ');
    const message = `${places.file}, ${places.row(line)}: two columns are called ${JSON.stringify(name)} (${where})`;
    throw new UsageError(message, 'rename or remove one of them');
  };
  const byName = Map.groupBy(cells.keys(), (index) => foldName(cells[index] ?? ''));
  const indexOf = new Map<string, number>();
  for (const column of [...required, ...optional]) {
    const [index, ...others] = byName.get(foldName(column)) ?? [];
    if (index === undefined) continue;
    if (others.length > 0) refuse(column, [index, ...others]);
    indexOf.set(column, index);
  }
  const taken = new Set(indexOf.values());
  for (const [index, text] of keepsOthers ? cells.entries() : []) {
    const name = text.trim().replace(/^\*\s*/, '');
    if (name === '' || taken.has(index)) continue;
    const earlier = indexOf.get(name);
    if (earlier !== undefined) refuse(name, [earlier, index]);
    indexOf.set(name, index);
  }
  return { line, cells, indexOf };
}

function isBlankRow({ cells }: SourceRow): boolean {
  if (Array.isArray(cells)) return cells.every((text: string) => text.trim() === '');
  for (const { text, fault } of (cells as ReadonlyMap<number, WorkbookCell>).values()) {
    if (fault !== null || text.trim() !== '') return false;
  }
  return true;
}

function cellAt({ cells }: SourceRow, index: number): WorkbookCell | string | undefined {
  return 'get' in cells ? cells.get(index) : cells[index];
}

function cellText(row: SourceRow, index: number): string {
  const cell = cellAt(row, index);
  return typeof cell === 'object' ? cell.text : (cell ?? '');
}

/** Returns the texts of the cells of a row, up to its last cell. */
function cellTexts(row: SourceRow): string[] {
  if (!('get' in row.cells)) return [...row.cells];
  const width = Math.max(0, ...row.cells.keys()) + 1;
  return Array.from({ length: width }, (_, index) => cellText(row, index));
}
