import Table from 'cli-table3';
import { inertText } from '../../core/inert-text.ts';
import { formatInteger } from './format.ts';
import { textWidth, wrapText } from './wrap.ts';

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;

export type CellStyle = keyof typeof STYLES;
export type Alignment = 'left' | 'center' | 'right';

/** One column of a table. Without `align`, a column of numbers is set to the right and anything else to the left. */
export type TableColumn<Row> = {
  [Key in keyof Row & string]: {
    key: Key;
    header: string;
    align?: Alignment;
    /** The cell's words; integers are grouped and null is blank without it. The result is made inert for terminals. */
    format?: (value: Row[Key], row: Row) => string;
    /** How the cell stands out when colours are on; undefined for not at all. */
    style?: (value: Row[Key], row: Row) => CellStyle | undefined;
  };
}[keyof Row & string];

export interface TableOptions {
  /** ANSI colours; off unless asked for. */
  color?: boolean;
  /** Columns of the terminal. Long text wraps to fit; numbers are never cut. Without it every cell is one line. */
  width?: number | undefined;
}

interface Cell {
  text: string;
  style: CellStyle | undefined;
}

const GAP = '  ';
/** Text columns are not squeezed below this, even when the terminal is narrower. */
const NARROWEST = 8;
/** cli-table3 takes quadratic time in the rows of one table: 200,000 rows are drawn as many small ones. */
const BLOCK_ROWS = 200;

/**
 * Rows as a table for a terminal: a rule below the headers, no other borders, no line break at the end. With no rows
 * the headers alone. Text from outside cannot act on the terminal.
 */
export function renderTable<Row extends object>(
  rows: readonly Row[],
  columns: readonly TableColumn<NoInfer<Row>>[],
  options: TableOptions = {},
): string {
  const head = columns.map((column): Cell => ({ text: inertText(column.header), style: 'bold' }));
  const body = rows.map((row) => columns.map((column) => toCell(row, column)));
  const aligns = columns.map((column) => column.align ?? naturalAlignment(rows, column.key));
  const widths = columnWidths([head, ...body], aligns, options.width);
  const draw = (cells: readonly Cell[]) =>
    cells.map((cell, index) => drawCell(cell, widths[index] ?? 0, options.color === true));

  const blocks = [drawBlock(body.slice(0, BLOCK_ROWS).map(draw), widths, aligns, draw(head))];
  for (let start = BLOCK_ROWS; start < body.length; start += BLOCK_ROWS) {
    blocks.push(drawBlock(body.slice(start, start + BLOCK_ROWS).map(draw), widths, aligns, []));
  }
  return blocks.join('\n').replace(/ +$/gm, '');
}

function toCell<Row extends object>(row: Row, column: TableColumn<Row>): Cell {
  const value = row[column.key];
  const text = column.format === undefined ? defaultText(value) : column.format(value, row);
  return { text: inertText(text), style: column.style?.(value, row) };
}

function defaultText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'bigint' || Number.isInteger(value)) return formatInteger(value as number | bigint);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value);
}

function naturalAlignment<Row extends object>(rows: readonly Row[], key: keyof Row): Alignment {
  const values = rows.map((row) => row[key]).filter((value) => value !== null && value !== undefined);
  const numeric = values.length > 0 && values.every((value) => typeof value === 'number' || typeof value === 'bigint');
  return numeric ? 'right' : 'left';
}

/** Widths that hold every cell; when they exceed the terminal, the widest text column gives way, again and again. */
function columnWidths(lines: readonly Cell[][], aligns: readonly Alignment[], terminal: number | undefined): number[] {
  const widths = aligns.map((_, index) =>
    lines.reduce((widest, cells) => Math.max(widest, textWidth(cells[index]?.text ?? '')), 1),
  );
  if (terminal === undefined) return widths;
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - terminal;
  while (excess > 0) {
    const texts = widths.map((width, index) => (aligns[index] === 'right' ? 0 : width));
    const widest = Math.max(...texts);
    const next = Math.max(NARROWEST, ...texts.filter((width) => width < widest));
    if (widest <= NARROWEST) break;
    const step = Math.min(excess, Math.max(1, widest - next));
    widths[texts.indexOf(widest)] = widest - step;
    excess -= step;
  }
  return widths;
}

function drawCell(cell: Cell, width: number, color: boolean): string {
  const lines = wrapText(cell.text, width);
  if (!color || cell.style === undefined) return lines.join('\n');
  const [on, off] = STYLES[cell.style];
  return lines.map((line) => `\x1b[${on}m${line}\x1b[${off}m`).join('\n');
}

function drawBlock(rows: string[][], widths: number[], aligns: Alignment[], head: string[]): string {
  const table = new Table({
    head,
    colWidths: [...widths],
    colAligns: [...aligns],
    chars: { ...NO_BORDER, mid: '─', 'mid-mid': '─'.repeat(GAP.length), middle: GAP },
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...rows);
  return table.toString();
}

const NO_BORDER = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  right: '',
  'right-mid': '',
} as const;
