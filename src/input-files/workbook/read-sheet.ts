import type { CellFault, SourceRow, WorkbookCell } from '../table.ts';
import { DamagedArchive } from '../zip-archive.ts';
import { isoOfSerial } from './dates.ts';
import { type Attributes, parseXml, unescapeText } from './parse-xml.ts';
import { plainNumber } from './plain-number.ts';

/** The data of the workbook that its cells refer to. */
export interface SheetContext {
  sharedStrings: readonly string[];
  /** For each cell style, by its index: true if the style shows numbers as dates. */
  isDateStyle: readonly boolean[];
  /** True if the workbook counts days from 1904; false if from 1900. */
  is1904: boolean;
}

/** The highest row number that a sheet can have, from 1. */
const MAX_ROW = 1_048_576;
/** The highest column number that a sheet can have, from 1. */
const MAX_COLUMN = 16_384;

const ERROR_HINT = 'correct the formula, and save the workbook';
const UNCALCULATED: CellFault = {
  problem: 'the formula has no stored result',
  hint: 'open the workbook in Excel or LibreOffice, and save it',
};

/**
 * Reads the rows of a sheet in order and calls `onRow` with each row that is not empty. Formulas are not calculated:
 * the value of a cell is the one that the workbook has stored. Throws DamagedArchive if the sheet is damaged.
 */
export function readSheet(bytes: Buffer, context: SheetContext, onRow: (row: SourceRow) => void): void {
  let row: { line: number; cells: Map<number, WorkbookCell>; lastColumn: number } | null = null;
  let lastLine = 0;
  let cell: OpenCell | null = null;
  let reads: 'value' | 'text' | null = null;
  let isPhonetic = false;
  parseXml(bytes, {
    open(name, attributes) {
      if (name === 'row') {
        const line = indexIn(attributes.r, lastLine + 1, { after: lastLine, most: MAX_ROW });
        lastLine = line;
        row = { line, cells: new Map(), lastColumn: 0 };
      } else if (name === 'c' && row !== null) {
        const column = indexIn(columnOf(attributes.r), row.lastColumn + 1, { after: row.lastColumn, most: MAX_COLUMN });
        row.lastColumn = column;
        cell = { attributes, column, value: null, text: '', hasFormula: false };
      } else if (cell === null) {
        return;
      } else if (name === 'v') {
        cell.value = '';
        reads = 'value';
      } else if (name === 'f') cell.hasFormula = true;
      else if (name === 't' && !isPhonetic) reads = 'text';
      else if (name === 'rPh') isPhonetic = true;
    },
    text(text) {
      if (cell === null) return;
      if (reads === 'value') cell.value += text;
      else if (reads === 'text') cell.text += text;
    },
    close(name) {
      if (name === 'v' || name === 't') reads = null;
      else if (name === 'rPh') isPhonetic = false;
      else if (name === 'c' && cell !== null && row !== null) {
        const value = readCell(cell, context);
        if (value !== null) row.cells.set(cell.column - 1, value);
        cell = null;
      } else if (name === 'row' && row !== null) {
        if (row.cells.size > 0) onRow({ line: row.line, cells: row.cells });
        row = null;
      }
    },
  });
}

interface OpenCell {
  attributes: Attributes;
  /** The number of the column, from 1. */
  column: number;
  /** The text in the cell's element `<v>`; null if the cell has no such element. */
  value: string | null;
  /** The text of an inline string, which is stored in the cell itself. */
  text: string;
  hasFormula: boolean;
}

/**
 * Returns the number of a row or column. If its address is missing, the number is `next`. Throws DamagedArchive if the
 * number is not between `after` and `most`: rows and cells must be in ascending order.
 */
function indexIn(given: string | number | undefined, next: number, { after, most }: { after: number; most: number }) {
  const index = given === undefined ? next : Number(given);
  if (Number.isInteger(index) && index > after && index <= most) return index;
  throw new DamagedArchive();
}

function columnOf(address: string | undefined): number | undefined {
  if (address === undefined) return undefined;
  const letters = /^[A-Z]{1,3}(?=\d+$)/.exec(address)?.[0] ?? '';
  return [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0);
}

/** Returns the letters of the column with this index, from 0: `0` is `A`, `27` is `AB`. */
export function columnLetters(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : columnLetters(Math.floor(index / 26) - 1) + last;
}

/** Returns the value of a cell; null for an empty cell. The types of cells are those of ECMA-376 part 1, 18.18.11. */
function readCell({ attributes, value, text, hasFormula }: OpenCell, context: SheetContext): WorkbookCell | null {
  const { t: type = 'n', s: style } = attributes;
  if (type === 'inlineStr') return textCell(unescapeText(text));
  if (value === null || (value === '' && type !== 'str')) return hasFormula ? faultyCell(UNCALCULATED) : null;
  switch (type) {
    case 's': {
      const shared = /^\d+$/.test(value) ? context.sharedStrings[Number(value)] : undefined;
      if (shared === undefined) throw new DamagedArchive();
      return textCell(shared);
    }
    case 'str':
      return textCell(unescapeText(value));
    case 'b':
      return textCell(value === '1' || value === 'true' ? 'TRUE' : 'FALSE');
    case 'e':
      return faultyCell({ problem: `the cell has the error ${value}`, hint: ERROR_HINT });
    case 'd':
      return textCell(value);
    case 'n':
      return numberCell(value, context.isDateStyle[Number(style ?? 0)] === true ? context : null);
    default:
      throw new DamagedArchive();
  }
}

/** Returns the value of a number cell. `dates` has the workbook's date system if the cell shows a date; else null. */
function numberCell(raw: string, dates: SheetContext | null): WorkbookCell {
  const iso = dates === null ? null : isoOfSerial(Number(raw), dates.is1904);
  if (iso !== null) return textCell(iso);
  const text = plainNumber(raw);
  if (text !== null) return { text, isNumber: true, fault: null };
  const problem = `the number ${JSON.stringify(raw)} has more digits than a workbook keeps`;
  return faultyCell({ problem, hint: 'format the column as text, and enter the value again' });
}

function textCell(text: string): WorkbookCell {
  return { text, isNumber: false, fault: null };
}

function faultyCell(fault: CellFault): WorkbookCell {
  return { text: '', isNumber: false, fault };
}
