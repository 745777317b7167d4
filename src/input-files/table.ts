import { UsageError } from '../core/errors.ts';
import { nearest } from '../core/text/closest.ts';
import { inertText } from '../core/text/inert-text.ts';

/** A cell of a workbook, beyond its text. */
export interface WorkbookCell {
  /** A number as a plain decimal with a point; a date or time in ISO form. */
  text: string;
  isNumber: boolean;
  /** Why the cell has no value that can be used; null: it has one. */
  fault: CellFault | null;
}

export interface CellFault {
  /** To follow the place: `has the error #REF!`. */
  problem: string;
  hint: string;
}

export interface SourceRow {
  /** Line in a text file (the last one of the record), row in a sheet; from 1. */
  line: number;
  /** Cells by their column, from 0; empty ones may be missing. */
  cells: ReadonlyMap<number, WorkbookCell> | readonly string[];
}

export interface TableRequest {
  /** Columns that the file must have. */
  required: readonly string[];
  /** Columns that it may have. */
  optional?: readonly string[];
  /** True to keep all other columns, under their names in the file. */
  keepsOthers?: boolean;
}

export interface TableRow {
  /** As in SourceRow. */
  line: number;
  /** Texts by column, under the names that the request has; empty where the row has no such cell. */
  record: Readonly<Record<string, string>>;
  /** Columns with a number cell of a workbook: the text is a plain decimal, in any other format of the sheet. */
  numbers: ReadonlySet<string>;
}

export interface Table {
  rows: TableRow[];
  /** Formats the place of a cell for an error: `inv.csv, line 3, column net` or `inv.xlsx, cell B3 (column net)`. */
  place(row: TableRow, column: string): string;
}

/** How a kind of file names its places. */
export interface Places {
  file: string;
  /** `line 3` or `row 3`. */
  row(line: number): string;
  cell(line: number, columnIndex: number, column: string): string;
  /**
   * True if cells beyond the header are a fault: in text they come from an unquoted delimiter, in a sheet they are
   * notes.
   */
  refusesSurplus: boolean;
  /** A further remedy for a missing column; null for none. */
  missingColumnHint: string | null;
}

/** Titles above the header have at most this many rows. */
export const MAX_TITLE_ROWS = 100;

/** Normalizes a column name for comparison: without the asterisk of templates, without case, with single spaces. */
export function foldName(name: string): string {
  const plain = name.normalize('NFKC').replace(/[\s\ufeff]+/g, ' ');
  return plain
    .trim()
    .replace(/^\*\s*/, '')
    .toLowerCase();
}

/** How many of these columns the cells of a row name. */
export function countMatches(cells: readonly string[], columns: readonly string[]): number {
  const names = new Set(cells.map(foldName));
  return columns.filter((column) => names.has(foldName(column))).length;
}

/**
 * Makes a table of rows that come in their order: finds the header by its column names, skips rows that are empty or repeat
 * the header, and fills up short ones. `finish` throws UsageError for a file without a header or without a row below it.
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

  /** Returns the error for a file without the requested header. It shows the row that is most similar to the header. */
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
  /** The columns that are read, by the names that rows have them under. */
  indexOf: ReadonlyMap<string, number>;
}

/** Throws UsageError where two columns match one name: nobody can tell which is meant. */
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

/** The texts up to the last cell that has one. */
function cellTexts(row: SourceRow): string[] {
  if (!('get' in row.cells)) return [...row.cells];
  const width = Math.max(0, ...row.cells.keys()) + 1;
  return Array.from({ length: width }, (_, index) => cellText(row, index));
}
